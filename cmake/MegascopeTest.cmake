# Functions that add tests. All tests have a time limit. ctest reports a GTEST_SKIP as skipped.
set(MEGASCOPE_TEST_TIMEOUT_S 120 CACHE STRING "Time limit of a test, in seconds")

set(MEGASCOPE_MPIRUN_COMMAND "${MEGASCOPE_MPIRUN}")
set(MEGASCOPE_MPI_ENVIRONMENT GTEST_COLOR=no)
if(MEGASCOPE_MPI_LIBRARY STREQUAL "openmpi")
  execute_process(COMMAND id -u OUTPUT_VARIABLE uid OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(uid EQUAL 0)
    list(APPEND MEGASCOPE_MPIRUN_COMMAND --allow-run-as-root)
  endif()
  list(APPEND MEGASCOPE_MPIRUN_COMMAND --oversubscribe)
  # There may be more ranks than cores, so idle ranks yield. ptrace may be forbidden, so ranks copy through shared memory. Windows of
  # arbitrary memory then need osc pt2pt, which is not part of Debian's default selection.
  list(APPEND MEGASCOPE_MPI_ENVIRONMENT
    OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl=self,vader
    OMPI_MCA_osc=sm,rdma,pt2pt)
endif()
# Leaks and races of the MPI library, and of libraries that it loads, are ignored.
set(MEGASCOPE_SANITIZER_ENVIRONMENT "")
if(MEGASCOPE_SANITIZE)
  set(supp "${PROJECT_SOURCE_DIR}/tests/sanitize")
  set(MEGASCOPE_SANITIZER_ENVIRONMENT
    "UBSAN_OPTIONS=print_stacktrace=1"
    "LSAN_OPTIONS=suppressions=${supp}/lsan.supp:print_suppressions=0"
    "TSAN_OPTIONS=suppressions=${supp}/tsan.supp:print_suppressions=0:ignore_noninstrumented_modules=1:halt_on_error=1")
endif()
# The system's Python, because another one in PATH lacks Debian's modules (python3-otf2).
find_program(MEGASCOPE_PYTHON python3 PATHS /usr/bin /bin NO_DEFAULT_PATH)
find_program(MEGASCOPE_PYTHON python3)

if(MEGASCOPE_BUILD_TESTS)
  enable_testing()
  include(GoogleTest)
  find_package(GTest REQUIRED)
  # The target of sanitizer presets: tests with the label sanitize and the programs that they run, and tests with the label unit (thread
  # sanitizer: with the label threads, because the others start no threads).
  add_custom_target(sanitized_tests)
  # The code under test is optimised. The tests are not, because there are many and they need not be fast.
  set(MEGASCOPE_TEST_OPTIMIZATION -O1)
  if(MEGASCOPE_SANITIZE MATCHES "undefined" OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(MEGASCOPE_TEST_OPTIMIZATION -O0)
  endif()
  set(MEGASCOPE_SANITIZED_LABEL unit)
  if(MEGASCOPE_SANITIZE STREQUAL "thread")
    set(MEGASCOPE_SANITIZED_LABEL threads)
  endif()
endif()

# megascope_add_test(name SOURCES files... [USES layers...] [LIBRARIES targets...] [MPI] [RANKS 1 2 4]
#                    [LABELS labels...] [TIMEOUT seconds] [FILTER gtest_filter] [ENVIRONMENT NAME=VALUE...])
#
# Adds a GoogleTest program. Without RANKS each TEST is one ctest. With RANKS (implies MPI) the whole program is one ctest for each
# number of ranks, <name>.ranks<N>; the program has its own main. MPI without RANKS: one process, linked with MPI, with its own main.
# USES: layers by name. Layers are archives, so a test of wrappers lists objects in SOURCES: $<TARGET_OBJECTS:...>.
function(megascope_add_test name)
  cmake_parse_arguments(ARG "MPI" "TIMEOUT;FILTER" "SOURCES;USES;LIBRARIES;RANKS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT ${MEGASCOPE_TEST_TIMEOUT_S})
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  list(TRANSFORM ARG_USES PREPEND megascope_)
  target_compile_options(${name} PRIVATE ${MEGASCOPE_TEST_OPTIMIZATION})
  target_link_libraries(${name} PRIVATE megascope_flags ${ARG_USES} ${ARG_LIBRARIES} GTest::gmock)
  if(MEGASCOPE_SANITIZED_LABEL IN_LIST ARG_LABELS)
    add_dependencies(sanitized_tests ${name})
  endif()
  set(environment ${ARG_ENVIRONMENT} ${MEGASCOPE_SANITIZER_ENVIRONMENT})
  if(ARG_RANKS OR ARG_MPI)
    target_link_libraries(${name} PRIVATE megascope::mpi)
    list(APPEND environment ${MEGASCOPE_MPI_ENVIRONMENT})
  else()
    target_link_libraries(${name} PRIVATE GTest::gmock_main)
  endif()
  if(NOT ARG_RANKS)
    gtest_discover_tests(${name} TEST_PREFIX ${name}. TEST_FILTER "${ARG_FILTER}" DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT ${ARG_TIMEOUT})
    megascope_set_discovered_properties(${name} "${ARG_LABELS}" "${environment}")
    return()
  endif()
  foreach(ranks IN LISTS ARG_RANKS)
    megascope_add_mpi_command(${name}.ranks${ranks} RANKS ${ranks} COMMAND $<TARGET_FILE:${name}>
      LABELS ${ARG_LABELS} mpi TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT ${environment})
  endforeach()
endfunction()

# gtest_discover_tests does not support properties that are lists. They are set when ctest reads the discovered tests.
function(megascope_set_discovered_properties name labels environment)
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
  file(WRITE "${script}"
    "foreach(test IN LISTS ${name}_TESTS)\n"
    "  set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${labels}\" ENVIRONMENT \"${environment}\")\n"
    "endforeach()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

# megascope_add_mpi_command(name RANKS n COMMAND program [args...] [LABELS ...] [TIMEOUT s] [ENVIRONMENT ...])
# Adds one ctest that runs a program under mpirun. It passes if mpirun returns 0.
function(megascope_add_mpi_command name)
  cmake_parse_arguments(ARG "" "RANKS;TIMEOUT" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT ${MEGASCOPE_TEST_TIMEOUT_S})
  endif()
  add_test(NAME ${name} COMMAND ${MEGASCOPE_MPIRUN_COMMAND} -n ${ARG_RANKS} ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${ARG_RANKS} LABELS "${ARG_LABELS}"
    ENVIRONMENT "${ARG_ENVIRONMENT};${MEGASCOPE_MPI_ENVIRONMENT}")
endfunction()

# megascope_add_check(name COMMAND ... [LABELS ...] [TIMEOUT s] [ENVIRONMENT ...])
# Adds a script as a test. Exit code 0: passed; 77: skipped, with the reason in the output after "SKIPPED:".
function(megascope_add_check name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT ${MEGASCOPE_TEST_TIMEOUT_S})
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${ARG_LABELS}" ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

# megascope_add_fuzzer(name SOURCES files... [USES layers...]): build/fuzz/fuzz/<name>, only with MEGASCOPE_BUILD_FUZZERS.
function(megascope_add_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  if(NOT MEGASCOPE_BUILD_FUZZERS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  list(TRANSFORM ARG_USES PREPEND megascope_)
  target_link_libraries(${name} PRIVATE megascope_flags ${ARG_USES} ${ARG_LIBRARIES})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
