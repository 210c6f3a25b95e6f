# Compiler flags of all targets of the project. Third-party headers come from SYSTEM targets.
include(CheckCXXCompilerFlag)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Users and scripts rely on these directories.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/archive")

find_program(MEGASCOPE_CCACHE ccache)
mark_as_advanced(MEGASCOPE_CCACHE)
if(MEGASCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the repository are written relative to the build directory, so that presets and clones share cache entries.
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "${MEGASCOPE_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

find_package(Threads REQUIRED)
check_cxx_compiler_flag(-ftls-model=initial-exec MEGASCOPE_HAS_TLS_MODEL)
check_cxx_compiler_flag(-fno-gnu-unique MEGASCOPE_HAS_NO_GNU_UNIQUE)

# g++ 12 reports overlaps and overflows inside std::string and std::vector that do not exist (GCC bugs 105651, 105329, 100366, fixed
# in 13). clang and the address sanitizer check for them instead.
set(MEGASCOPE_MUTED_WARNINGS)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(MEGASCOPE_MUTED_WARNINGS -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()

add_library(megascope_flags INTERFACE)
target_include_directories(megascope_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_definitions(megascope_flags INTERFACE
  OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX MEGASCOPE_VERSION_TEXT="${PROJECT_VERSION}")
target_compile_options(megascope_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow ${MEGASCOPE_MUTED_WARNINGS}
  $<$<BOOL:${MEGASCOPE_WERROR}>:-Werror>
  $<$<BOOL:${MEGASCOPE_HAS_TLS_MODEL}>:-ftls-model=initial-exec>
  $<$<AND:$<BOOL:${MEGASCOPE_HAS_NO_GNU_UNIQUE}>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-fno-gnu-unique>)
target_link_libraries(megascope_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

if(MEGASCOPE_SANITIZE)
  # Debug information has relative paths, so that clones share ccache entries.
  add_compile_options(-fsanitize=${MEGASCOPE_SANITIZE} -fno-omit-frame-pointer -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.)
  add_link_options(-fsanitize=${MEGASCOPE_SANITIZE})
  if(MEGASCOPE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(MEGASCOPE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A fence of the reader orders writes of another process. The thread sanitizer does not observe other processes.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
endif()
if(MEGASCOPE_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "MEGASCOPE_BUILD_FUZZERS needs clang: use the preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# megascope_optimise_wrappers(files...)
#
# For files of the current directory that are on the hot path. They are optimised in all build types: a wrapper must call its body by a
# tail call, so that both have the caller's return address. They are not vectorised: a 16-byte load of fields that were stored one by one
# shortly before stalls.
function(megascope_optimise_wrappers)
  set(without_vectors -fno-tree-slp-vectorize -fno-tree-loop-vectorize)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(without_vectors -fno-slp-vectorize -fno-vectorize)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-O2;${without_vectors}")
endfunction()
