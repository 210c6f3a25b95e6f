# All options of the build. AUTO: the feature is built if its dependency is found. ON: a missing dependency is an error. OFF: the feature is
# not built.
function(megascope_feature_option name help)
  set(MEGASCOPE_WITH_${name} AUTO CACHE STRING "${help} (AUTO|ON|OFF)")
  set_property(CACHE MEGASCOPE_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  if(NOT MEGASCOPE_WITH_${name} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "MEGASCOPE_WITH_${name}=${MEGASCOPE_WITH_${name}}: accepted are AUTO, ON and OFF")
  endif()
endfunction()

megascope_feature_option(OTF2 "Export to OTF2")
megascope_feature_option(LIBDW "Lines of call sites")
megascope_feature_option(SLURM "Plugin for Slurm (srun --megascope)")
megascope_feature_option(NVTX "Ranges that programs annotate with NVTX")
megascope_feature_option(CUDA "GPU activity")
megascope_feature_option(LIVE "Live view")
megascope_feature_option(FORTRAN "Fortran interfaces")

set(MEGASCOPE_MPI_LIBRARY openmpi CACHE STRING "The MPI library that is recorded (openmpi|mpich)")
set_property(CACHE MEGASCOPE_MPI_LIBRARY PROPERTY STRINGS openmpi mpich)
if(NOT MEGASCOPE_MPI_LIBRARY MATCHES "^(openmpi|mpich)$")
  message(FATAL_ERROR "MEGASCOPE_MPI_LIBRARY=${MEGASCOPE_MPI_LIBRARY}: accepted are openmpi and mpich")
endif()

option(MEGASCOPE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(MEGASCOPE_BUILD_BENCH "Build the benchmarks" OFF)
option(MEGASCOPE_BUILD_FUZZERS "Build the libFuzzer targets (clang only)" OFF)
option(MEGASCOPE_WERROR "Warnings are errors" OFF)
option(MEGASCOPE_INSTALL "Generate install rules" ${PROJECT_IS_TOP_LEVEL})
if(DEFINED MEGASCOPE_PYTHON_FOLDER)  # the former name
  message(WARNING "MEGASCOPE_PYTHON_FOLDER is now called MEGASCOPE_PYTHON_DIRECTORY; its value is used")
  set(MEGASCOPE_PYTHON_DIRECTORY "${MEGASCOPE_PYTHON_FOLDER}" CACHE STRING "" FORCE)
  unset(MEGASCOPE_PYTHON_FOLDER CACHE)
endif()
set(MEGASCOPE_PYTHON_DIRECTORY "lib/python3/dist-packages" CACHE STRING "Where the Python package is installed, below the prefix; Debian's")
set(MEGASCOPE_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

include(GNUInstallDirs)
if(NOT "$CACHE{CMAKE_INSTALL_DOCDIR}")  # GNUInstallDirs uses the project's name with its capitals
  set(CMAKE_INSTALL_DOCDIR "${CMAKE_INSTALL_DATAROOTDIR}/doc/megascope")
endif()
