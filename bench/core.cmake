# Parts of core; included by bench/CMakeLists.txt.
find_package(benchmark QUIET)
if(NOT benchmark_FOUND)
  message(STATUS "no Google Benchmark (Debian: libbenchmark-dev): no benchmarks of core")
  return()
endif()
add_executable(profile_bench profile_bench.cpp)
target_link_libraries(profile_bench PRIVATE megascope_flags megascope_record megascope_trace benchmark::benchmark)
