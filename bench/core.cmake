# Parts of core, and the end of a run of any number of ranks; included by bench/CMakeLists.txt.
add_executable(end_simulation
  end_simulation.cpp end_exports.h $<IF:$<TARGET_EXISTS:megascope_otf2>,end_exports.cpp,end_exports_absent.cpp> owned_heap.cpp owned_heap.h simulated_world.cpp simulated_world.h
  "${PROJECT_SOURCE_DIR}/plugin/run/conclusion.cpp" "${PROJECT_SOURCE_DIR}/plugin/run/conclusion.h")
target_link_libraries(end_simulation PRIVATE megascope_flags megascope_report megascope_lifecycle megascope_record megascope_base
  $<TARGET_NAME_IF_EXISTS:megascope_otf2>)

find_package(benchmark QUIET)
if(NOT benchmark_FOUND)
  message(STATUS "no Google Benchmark (Debian: libbenchmark-dev): no benchmarks of core")
  return()
endif()
add_executable(profile_bench profile_bench.cpp)
target_link_libraries(profile_bench PRIVATE megascope_flags megascope_record megascope_trace benchmark::benchmark)
add_executable(packing_bench packing_bench.cpp)
target_link_libraries(packing_bench PRIVATE megascope_flags megascope_record megascope_trace benchmark::benchmark)
add_executable(cpu_reading_bench cpu_reading_bench.cpp)
target_link_libraries(cpu_reading_bench PRIVATE megascope_flags megascope_base benchmark::benchmark)
add_executable(analysis_bench analysis_bench.cpp generated_run.cpp generated_run.h)
target_link_libraries(analysis_bench PRIVATE megascope_flags megascope_waits megascope_match megascope_record benchmark::benchmark)
