# Configures a project that lists a directory that does not exist; passes when CMake refuses and names it.
file(REMOVE_RECURSE "${BUILD}")
foreach(layers IN ITEMS "there" "there\\;elsewhere")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}" "-DMODULE=${MODULE}" "-DLAYERS=${layers}"
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE error)
  if(layers STREQUAL "there" AND NOT status EQUAL 0)
    message(FATAL_ERROR "a directory that exists was refused: ${error}")
  elseif(NOT layers STREQUAL "there" AND (status EQUAL 0 OR NOT error MATCHES "there is no elsewhere/CMakeLists.txt"))
    message(FATAL_ERROR "expected a refusal that names the directory, got status ${status}: ${error}")
  endif()
endforeach()
