# The MPI library that this build is for (MEGASCOPE_MPI_LIBRARY). A build of libmegascope.so supports one binary interface of MPI.
#   megascope::mpi_headers (mpi.h, nothing linked)   megascope::mpi (the library, for tests, bench and examples)
#   MEGASCOPE_MPICC, MEGASCOPE_MPIRUN   MEGASCOPE_MPI_VERSION: "Open MPI 4.1.4"

# Full names, because plain mpicc may be that of another MPI library.
set(suffix "${MEGASCOPE_MPI_LIBRARY}")
set(launchers mpirun.openmpi mpirun)
set(package libopenmpi-dev)
if(MEGASCOPE_MPI_LIBRARY STREQUAL "mpich")
  set(launchers mpiexec.hydra mpirun.mpich mpirun)
  set(package libmpich-dev)
endif()
find_program(MEGASCOPE_MPICC NAMES mpicc.${suffix} mpicc DOC "The MPI library's compiler wrapper")
find_program(MEGASCOPE_MPIRUN NAMES ${launchers} DOC "The MPI library's launcher")
if(NOT MEGASCOPE_MPICC OR NOT MEGASCOPE_MPIRUN)
  message(FATAL_ERROR "${MEGASCOPE_MPI_LIBRARY} was not found. Debian: apt-get install ${package}, or run scripts/setup.sh")
endif()

# Calls the compiler wrapper with an option such as --showme:link, and stores its output as a list.
function(megascope_query_mpicc option result)
  execute_process(COMMAND "${MEGASCOPE_MPICC}" ${option} OUTPUT_VARIABLE output
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${MEGASCOPE_MPICC} ${option} failed. Check that it belongs to ${MEGASCOPE_MPI_LIBRARY}. ${error}")
  endif()
  separate_arguments(output UNIX_COMMAND "${output}")
  set(${result} ${output} PARENT_SCOPE)
endfunction()

if(MEGASCOPE_MPI_LIBRARY STREQUAL "mpich")
  megascope_query_mpicc(-show command)
  list(POP_FRONT command)  # the compiler
  set(MEGASCOPE_MPI_INCLUDE_DIRS ${command})
  list(FILTER MEGASCOPE_MPI_INCLUDE_DIRS INCLUDE REGEX "^-I")
  list(TRANSFORM MEGASCOPE_MPI_INCLUDE_DIRS REPLACE "^-I" "")
  set(MEGASCOPE_MPI_LINK ${command})
  list(FILTER MEGASCOPE_MPI_LINK EXCLUDE REGEX "^-I")
  find_file(MEGASCOPE_MPI_HEADER mpi.h PATHS ${MEGASCOPE_MPI_INCLUDE_DIRS} NO_DEFAULT_PATH)
  mark_as_advanced(MEGASCOPE_MPI_HEADER)
  file(STRINGS "${MEGASCOPE_MPI_HEADER}" version REGEX "#define MPICH_VERSION")
  string(REGEX REPLACE ".*\"(.*)\".*" "MPICH \\1" MEGASCOPE_MPI_VERSION "${version}")
else()
  megascope_query_mpicc(--showme:incdirs MEGASCOPE_MPI_INCLUDE_DIRS)
  megascope_query_mpicc(--showme:link MEGASCOPE_MPI_LINK)
  megascope_query_mpicc(--showme:version version)
  list(JOIN version " " version)
  string(REGEX MATCH "Open MPI [0-9a-z.]+" MEGASCOPE_MPI_VERSION "${version}")
endif()

# Functions that MPI-3 removed: Open MPI's library contains them up to version 4; its mpi.h declares them with this definition.
set(MEGASCOPE_MPI_DEFINITIONS OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
if(MEGASCOPE_MPI_VERSION MATCHES "^Open MPI [34]\\.")
  list(APPEND MEGASCOPE_MPI_DEFINITIONS OMPI_OMIT_MPI1_COMPAT_DECLS=0)
endif()

add_library(megascope_mpi_headers INTERFACE)
target_include_directories(megascope_mpi_headers SYSTEM INTERFACE ${MEGASCOPE_MPI_INCLUDE_DIRS})
target_compile_definitions(megascope_mpi_headers INTERFACE ${MEGASCOPE_MPI_DEFINITIONS})
add_library(megascope::mpi_headers ALIAS megascope_mpi_headers)
add_library(megascope_mpi_library INTERFACE)
target_link_libraries(megascope_mpi_library INTERFACE megascope_mpi_headers ${MEGASCOPE_MPI_LINK})
add_library(megascope::mpi ALIAS megascope_mpi_library)
