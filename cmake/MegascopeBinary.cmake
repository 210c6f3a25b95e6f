# Link options of binaries that applications load: the library and its loadable modules.

# Links the C++ runtime statically, hides all symbols of archives, and refuses undefined symbols.
function(megascope_link_as_preloaded target)
  if(NOT MEGASCOPE_SANITIZE)  # sanitizers need the shared C++ runtime and undefined symbols
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:-z,defs)
  endif()
  target_link_options(${target} PRIVATE
    LINKER:--exclude-libs,ALL LINKER:-z,relro LINKER:-z,now LINKER:--build-id=sha1 LINKER:--as-needed)
endfunction()

# megascope_link_plugin_flags(target)
# Sets the link options of libmegascope.so: those of a preloaded library, the exports of cmake/megascope.map, and the SOVERSION of
# the C API.
function(megascope_link_plugin_flags target)
  set(map "${PROJECT_SOURCE_DIR}/cmake/megascope.map")
  megascope_link_as_preloaded(${target})
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME megascope VERSION ${PROJECT_VERSION} SOVERSION 1 LINKER_LANGUAGE CXX LINK_DEPENDS "${map}")
endfunction()

# megascope_add_module(name SOURCES files... [USES layers...] [LIBRARIES targets...])
#
# Adds lib/libmegascope_<name>.so, which the library opens with dlopen. It contains copies of the layers that it uses, and exports
# only megascope_module_<name>. The target is megascope_module_<name>.
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
