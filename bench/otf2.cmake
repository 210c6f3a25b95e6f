# OTF2 export beside libotf2 alone; included by bench/CMakeLists.txt.
if(TARGET megascope_bench_timeline AND TARGET megascope_otf2)
  add_executable(otf2_export_bench otf2_export_bench.cpp otf2_reference.cpp otf2_reference.h)
  target_link_libraries(otf2_export_bench PRIVATE megascope_bench_timeline megascope_otf2 megascope::otf2)
endif()
