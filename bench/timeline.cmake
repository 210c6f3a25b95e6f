# Exports of timelines; included by bench/CMakeLists.txt.
find_package(benchmark QUIET)
if(NOT benchmark_FOUND)
  message(STATUS "no Google Benchmark (Debian: libbenchmark-dev): no benchmarks of timeline exports")
  return()
endif()
add_library(megascope_bench_timeline STATIC generated_run.cpp generated_run.h timeline_export_bench.cpp
            timeline_export_bench.h)
target_link_libraries(megascope_bench_timeline PUBLIC
  megascope_lifecycle megascope_record megascope_base benchmark::benchmark)
foreach(format IN ITEMS perfetto chrome)
  if(TARGET megascope_${format})
    add_executable(${format}_export_bench ${format}_export_bench.cpp)
    target_link_libraries(${format}_export_bench PRIVATE megascope_bench_timeline megascope_${format})
  endif()
endforeach()
