# What is loaded into a program we did not build: the library itself and its modules.

# Carries its own C++ runtime, shows no symbol of an archive, leaves nothing undefined.
function(megascope_link_as_preloaded target)
  if(NOT MEGASCOPE_SANITIZE)  # a sanitizer's runtime wants the shared C++ runtime and undefined symbols
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:-z,defs)
  endif()
  target_link_options(${target} PRIVATE
    LINKER:--exclude-libs,ALL LINKER:-z,relro LINKER:-z,now LINKER:--build-id=sha1 LINKER:--as-needed)
endfunction()

# megascope_link_plugin_flags(target)
# The flags of libmegascope.so: a preloaded library, with the exports of cmake/megascope.map and the C API's SOVERSION.
function(megascope_link_plugin_flags target)
  set(map "${PROJECT_SOURCE_DIR}/cmake/megascope.map")
  megascope_link_as_preloaded(${target})
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME megascope VERSION ${PROJECT_VERSION} SOVERSION 1 LINKER_LANGUAGE CXX LINK_DEPENDS "${map}")
endfunction()

# megascope_add_module(name SOURCES files... [USES layers...] [LIBRARIES targets...])
#
# lib/libmegascope_<name>.so, opened with dlopen: has its own copy of what it uses and exports nothing but
# megascope_module_<name>. The target is megascope_module_<name>.
function(megascope_add_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  set(target megascope_module_${name})
  set(map "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${map}" CONTENT "{\n  global: megascope_module_${name};\n  local: *;\n};\n")
  add_library(${target} MODULE ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME megascope_${name} LINK_DEPENDS "${map}")
  target_link_libraries(${target} PRIVATE megascope_flags ${ARG_LIBRARIES})
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(${target} PRIVATE megascope_${used})
  endforeach()
  megascope_link_as_preloaded(${target})
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
  set_property(GLOBAL APPEND PROPERTY MEGASCOPE_MODULES ${name})
endfunction()
