# Layers as targets. A layer lists the layers that it uses. CMake refuses a use of the same or a higher layer; tests/lint refuses an
# include of one.

# Adds the directories in the given order. A directory without a CMakeLists.txt is an error.
function(megascope_add_layers)
  foreach(layer IN LISTS ARGN)
    if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${layer}/CMakeLists.txt")
      message(FATAL_ERROR "megascope_add_layers: there is no ${layer}/CMakeLists.txt")
    endif()
    add_subdirectory("${PROJECT_SOURCE_DIR}/${layer}" "${PROJECT_BINARY_DIR}/modules/${layer}")
  endforeach()
endfunction()

# megascope_add_layer(name LEVEL k SOURCES files... [USES layers...] [LIBRARIES targets...])
#
# Adds a static library megascope_<name>. Paths of includes start at the repository root ("core/base/status.h").
# LEVEL: 0.1 to 0.7 for core's layers (from base to hooks), then 1 to 4 as in
# docs/architecture.md. From 1 on, decimals order the layers of one parent directory only: 3.2 of mpi_layer must not
# use 3.1 of plugin/live. USES: lower layers, by their <name>. LIBRARIES: third-party targets.
function(megascope_add_layer name)
  cmake_parse_arguments(ARG "" "LEVEL" "SOURCES;USES;LIBRARIES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT DEFINED ARG_LEVEL OR NOT ARG_SOURCES)
    message(FATAL_ERROR "megascope_add_layer(${name} LEVEL k SOURCES ... [USES ...] [LIBRARIES ...]): "
                        "LEVEL and SOURCES are needed, not understood: '${ARG_UNPARSED_ARGUMENTS}'")
  endif()
  set(target megascope_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  megascope_parent_directory(parent)
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX MEGASCOPE_LEVEL ${ARG_LEVEL} MEGASCOPE_PARENT "${parent}"
    MEGASCOPE_USES "${ARG_USES}" MEGASCOPE_LIBRARIES "${ARG_LIBRARIES}")
  target_link_libraries(${target} PUBLIC megascope_flags ${ARG_LIBRARIES})
  foreach(used IN LISTS ARG_USES)
    megascope_check_downward(${name} ${ARG_LEVEL} ${used})
    target_link_libraries(${target} PUBLIC megascope_${used})
  endforeach()
endfunction()

# Stores the parent of the current directory, relative to the root: "plugin/live" in plugin/live/hub, empty in kernels.
function(megascope_parent_directory result)
  file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  get_filename_component(parent "${path}" DIRECTORY)
  set(${result} "${parent}" PARENT_SCOPE)
endfunction()

function(megascope_check_downward name level used)
  if(NOT TARGET megascope_${used})
    message(FATAL_ERROR "layer ${name} uses ${used}, which is no layer, or is added later (layers are added bottom to top)")
  endif()
  get_target_property(used_level megascope_${used} MEGASCOPE_LEVEL)
  if(NOT used_level LESS level)
    message(FATAL_ERROR "layer ${name} (${level}) must not use ${used} (${used_level}): "
                        "a layer uses lower layers only; upward calls go through an interface in core/lifecycle")
  endif()
  megascope_parent_directory(parent)
  get_target_property(used_parent megascope_${used} MEGASCOPE_PARENT)
  string(REGEX REPLACE "\\..*" "" whole "${level}")
  string(REGEX REPLACE "\\..*" "" used_whole "${used_level}")
  if(whole GREATER 0 AND whole EQUAL used_whole AND NOT parent STREQUAL used_parent)
    message(FATAL_ERROR "layer ${name} (${level}) must not use ${used} (${used_level}) of another directory: "
                        "decimals order the layers of one parent directory only")
  endif()
endfunction()

# Stores the given layers and all layers that they use, directly or indirectly, each once.
function(megascope_collect_layers result)
  set(pending ${ARGN})
  set(all)
  while(pending)
    list(POP_FRONT pending layer)
    if(NOT layer IN_LIST all)
      list(APPEND all ${layer})
      get_target_property(uses megascope_${layer} MEGASCOPE_USES)
      if(uses)
        list(APPEND pending ${uses})
      endif()
    endif()
  endwhile()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# megascope_embed_layers(target layers...)
#
# Links all objects of these layers, and of all layers that they use, into the shared library `target`. In archives, their symbols would
# be hidden by --exclude-libs,ALL, and objects without references, such as the wrappers, would be omitted.
function(megascope_embed_layers target)
  megascope_collect_layers(layers ${ARGN})
  target_link_libraries(${target} PRIVATE megascope_flags)
  foreach(layer IN LISTS layers)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:megascope_${layer}>)
    get_target_property(libraries megascope_${layer} MEGASCOPE_LIBRARIES)
    if(libraries)
      target_link_libraries(${target} PRIVATE ${libraries})
    endif()
  endforeach()
endfunction()
