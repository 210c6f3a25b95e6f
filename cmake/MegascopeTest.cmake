# Tests. Every test has a time limit; a GTEST_SKIP is seen by ctest as skipped.
set(MEGASCOPE_TEST_TIMEOUT_S 120 CACHE STRING "Time limit of a test, in seconds")

set(MEGASCOPE_MPIRUN_COMMAND "${MEGASCOPE_MPIRUN}")
set(MEGASCOPE_MPI_ENVIRONMENT GTEST_COLOR=no)
if(MEGASCOPE_MPI_LIBRARY STREQUAL "openmpi")
  execute_process(COMMAND id -u OUTPUT_VARIABLE uid OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(uid EQUAL 0)
    list(APPEND MEGASCOPE_MPIRUN_COMMAND --allow-run-as-root)
  endif()
  list(APPEND MEGASCOPE_MPIRUN_COMMAND --oversubscribe)
  # Ranks outnumber cores and may run where ptrace is forbidden: yield when idle, copy through shared memory. Windows of any
  # memory then need osc pt2pt, which Debian leaves out.
  list(APPEND MEGASCOPE_MPI_ENVIRONMENT
    OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl=self,vader
    OMPI_MCA_osc=sm,rdma,pt2pt)
endif()
# Leaks and races of the MPI library and what it loads are not ours to judge.
set(MEGASCOPE_SANITIZER_ENVIRONMENT "")
if(MEGASCOPE_SANITIZE)
  set(supp "${PROJECT_SOURCE_DIR}/tests/sanitize")
  set(MEGASCOPE_SANITIZER_ENVIRONMENT
    "UBSAN_OPTIONS=print_stacktrace=1"
    "LSAN_OPTIONS=suppressions=${supp}/lsan.supp:print_suppressions=0"
    "TSAN_OPTIONS=suppressions=${supp}/tsan.supp:print_suppressions=0:ignore_noninstrumented_modules=1:halt_on_error=1")
endif()
# The system's Python: another one found first in PATH does not have Debian's modules (python3-otf2).
find_program(MEGASCOPE_PYTHON python3 PATHS /usr/bin /bin NO_DEFAULT_PATH)
find_program(MEGASCOPE_PYTHON python3)

if(MEGASCOPE_BUILD_TESTS)
  enable_testing()
  include(GoogleTest)
  find_package(GTest REQUIRED)
  # What is built of a sanitizer's preset: the tests labelled sanitize and what they run, and those labelled unit; for threads
  # only those labelled threads, since the others start none.
  add_custom_target(sanitized_tests)
  # Tests need not be fast, but are many: what is tested is optimised, they are not.
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
# A GoogleTest program. Without RANKS each TEST is one ctest. With RANKS (implies MPI) the whole program is one ctest a
# rank count, <name>.ranks<N>; it brings its own main. MPI without RANKS: linked with MPI and its own main, one process.
# USES: layers by name; as layers are archives, a test of wrappers names objects in SOURCES: $<TARGET_OBJECTS:...>.
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

# gtest_discover_tests passes on no property that is a list, so lists are set when ctest reads what was discovered.
function(megascope_set_discovered_properties name labels environment)
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
  file(WRITE "${script}"
    "foreach(test IN LISTS ${name}_TESTS)\n"
    "  set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${labels}\" ENVIRONMENT \"${environment}\")\n"
    "endforeach()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

# megascope_add_mpi_command(name RANKS n COMMAND program [args...] [LABELS ...] [TIMEOUT s] [ENVIRONMENT ...])
# One ctest that runs a program under mpirun; it passes when mpirun returns 0.
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
# A script as a test: 0 passes, 77 is skipped with the reason printed after "SKIPPED:".
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
