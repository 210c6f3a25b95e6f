# Configures a project whose lower layer uses a higher one; passes when CMake refuses and names both.
file(REMOVE_RECURSE "${BUILD}")
foreach(use IN ITEMS downward part upward sideways elsewhere)
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}/${use}" -DMODULE=${MODULE} -DUSE=${use}
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE error)
  set(level "2")
  if(use MATCHES "part|elsewhere")  # as in upward/CMakeLists.txt
    set(level "2\\.2")
  endif()
  if(use MATCHES "downward|part" AND NOT status EQUAL 0)
    message(FATAL_ERROR "a ${use} use was refused: ${error}")
  elseif(NOT use MATCHES "downward|part" AND (status EQUAL 0 OR NOT error MATCHES "layer middle \\(${level}\\) must not use"))
    message(FATAL_ERROR "${use}: expected a refusal that names the layers, got status ${status}: ${error}")
  endif()
endforeach()
