#pragma once

#include "tests/mpi/scenario.h"

#include <mpi.h>

/// Files in the bodies of scenarios.
namespace megascope::mpitest {

inline constexpr int kReadWrite = MPI_MODE_RDWR | MPI_MODE_CREATE;

/// One MPI_File_open.
inline MPI_File open_file(const char* name, MPI_Comm comm = MPI_COMM_WORLD, int mode = kReadWrite) {
  MPI_File file = MPI_FILE_NULL;
  expect(MPI_File_open(comm, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "opening");
  return file;
}
/// One MPI_File_close.
inline void close_file(MPI_File file) {
  expect(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL, "closing");
}
/// One MPI_Get_count.
inline void expect_count(const MPI_Status& status, MPI_Datatype type, int expected) {
  int count = 0;
  MPI_Get_count(&status, type, &count);
  expect(count == expected, "the count of a status");
}

}  // namespace megascope::mpitest
