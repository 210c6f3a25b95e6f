# Rooms as targets. A room names the rooms it uses; an upward or sideways use is refused here, and an upward include
# without a use by tests/lint.

# Adds those of the folders that are there, in this order.
function(megascope_add_rooms)
  foreach(room IN LISTS ARGN)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${room}/CMakeLists.txt")
      add_subdirectory("${PROJECT_SOURCE_DIR}/${room}" "${PROJECT_BINARY_DIR}/rooms/${room}")
    endif()
  endforeach()
endfunction()

# megascope_add_layer(name LEVEL k SOURCES files... [USES rooms...] [LIBRARIES targets...])
#
# A static library megascope_<name>; includes start at the repository root ("core/base/status.h").
# LEVEL: 0.1 to 0.7 for core's rooms (base, config, record, trace, buffer, lifecycle, hooks), then 1 to 4 as in
# docs/architecture.md. USES: rooms of lower levels, by their <name>. LIBRARIES: third-party targets.
function(megascope_add_layer name)
  cmake_parse_arguments(ARG "" "LEVEL" "SOURCES;USES;LIBRARIES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT DEFINED ARG_LEVEL OR NOT ARG_SOURCES)
    message(FATAL_ERROR "megascope_add_layer(${name} LEVEL k SOURCES ... [USES ...] [LIBRARIES ...]): "
                        "LEVEL and SOURCES are needed, not understood: '${ARG_UNPARSED_ARGUMENTS}'")
  endif()
  set(target megascope_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX MEGASCOPE_LEVEL ${ARG_LEVEL}
    MEGASCOPE_USES "${ARG_USES}" MEGASCOPE_LIBRARIES "${ARG_LIBRARIES}")
  target_link_libraries(${target} PUBLIC megascope_flags ${ARG_LIBRARIES})
  foreach(used IN LISTS ARG_USES)
    megascope_check_downward(${name} ${ARG_LEVEL} ${used})
    target_link_libraries(${target} PUBLIC megascope_${used})
  endforeach()
endfunction()

function(megascope_check_downward name level used)
  if(NOT TARGET megascope_${used})
    message(FATAL_ERROR "room ${name} uses ${used}, which is no room added before it (bottom to top)")
  endif()
  get_target_property(used_level megascope_${used} MEGASCOPE_LEVEL)
  if(NOT used_level LESS level)
    message(FATAL_ERROR "room ${name} (level ${level}) must not use ${used} (level ${used_level}): "
                        "only lower levels; upward calls go through an interface in core/lifecycle")
  endif()
endfunction()

# The rooms named and every room below that they use, each once.
function(megascope_collect_layers result)
  set(pending ${ARGN})
  set(all)
  while(pending)
    list(POP_FRONT pending room)
    if(NOT room IN_LIST all)
      list(APPEND all ${room})
      get_target_property(uses megascope_${room} MEGASCOPE_USES)
      if(uses)
        list(APPEND pending ${uses})
      endif()
    endif()
  endwhile()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# megascope_embed_layers(target rooms...)
#
# Puts every object of these rooms, and of all they use, into the shared library `target`. As archives they would be
# hidden by --exclude-libs,ALL and left out where nothing refers to them: a wrapper is such an object.
function(megascope_embed_layers target)
  megascope_collect_layers(rooms ${ARGN})
  target_link_libraries(${target} PRIVATE megascope_flags)
  foreach(room IN LISTS rooms)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:megascope_${room}>)
    get_target_property(libraries megascope_${room} MEGASCOPE_LIBRARIES)
    if(libraries)
      target_link_libraries(${target} PRIVATE ${libraries})
    endif()
  endforeach()
endfunction()
