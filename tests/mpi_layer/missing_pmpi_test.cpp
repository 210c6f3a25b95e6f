#include "core/buffer/recorder.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/fortran/pmpi.h"
#include "mpi_layer/table/selection.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <unistd.h>

/// tests/mpi_layer/procedure_without_pmpi.c: what stands behind us.
extern "C" int g_barrier_count;
extern "C" void* g_barrier_arguments[2];
/// Ours.
extern "C" void mpi_barrier_(void* comm, void* error);

/// Procedures of a library that defines mpi_x_ and no pmpi_x_.
namespace megascope::mpi {
namespace {

TEST(ProcedureWithoutPmpi, IsPassedOnAndNamedWhenItWasCalledWhileRecording) {
  int comm = 7;
  int error = 8;
  mpi_barrier_(&comm, &error);  // before recording no message is printed
  EXPECT_EQ(g_barrier_count, 1);

  const std::string path = std::filesystem::temp_directory_path() /
                           ("missing-pmpi-" + std::to_string(getpid()) + ".mgt");
  RecorderOptions options;
  options.path = path;
  options.size_bytes = std::uint64_t{64} << 20;
  static auto* const recorder = new Recorder(options);  // lives on, as in a program
  ASSERT_TRUE(recorder->open({}).is_ok());
  select_functions({"all"});
  fortran::refresh_selection();
  open_recording(*recorder, false);
  EXPECT_TRUE(recorder->definitions().info.unrecorded.empty());
  for (int i = 0; i < 3; ++i) mpi_barrier_(&comm, &error);
  close_recording();
  EXPECT_TRUE(recorder->finish(EndState::kFinalized).is_ok());

  EXPECT_EQ(g_barrier_count, 4);
  EXPECT_EQ(g_barrier_arguments[0], &comm);
  EXPECT_EQ(g_barrier_arguments[1], &error);
  EXPECT_EQ(recorder->definitions().info.unrecorded, std::vector<std::string>{"mpi_barrier_"});
  EXPECT_TRUE(recorder->profile().rows().empty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace megascope::mpi
