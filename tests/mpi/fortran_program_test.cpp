#include "tests/faults/launch.h"
#include "tests/faults/process.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

/// Whole Fortran programs, started and ended by Fortran: they print and return what they do without
/// us, and every call is there.
namespace megascope::faults {
namespace {

struct Result {
  Ending ending;
  std::string report;
};

Result run_ring(const std::string& interface, bool is_preloaded) {
  const test::TemporaryDirectory directory;
  Command command;
  command.arguments = launcher();
  for (const std::string& word : ranks_with(2, is_preloaded ? MEGASCOPE_TEST_LIBRARY : ""))
    command.arguments.push_back(word);
  command.arguments.push_back(MEGASCOPE_TEST_FORTRAN_DIRECTORY "/fortran_ring_" + interface);
  command.environment = launch_environment(2);
  command.environment.push_back("MEGASCOPE_OUT=" + (directory / "run"));
  command.environment.push_back("MEGASCOPE_SCRATCH=" + directory.path());
  command.directory = directory.path();
  Result result{.ending = Child(command).wait(60), .report = {}};
  std::ifstream file(directory / "run/report.json");
  result.report.assign(std::istreambuf_iterator<char>(file), {});
  return result;
}

class FortranProgram : public testing::TestWithParam<const char*> {};

TEST_P(FortranProgram, DoesTheSameAndIsRecorded) {
  const Result bare = run_ring(GetParam(), false);
  const Result recorded = run_ring(GetParam(), true);
  EXPECT_NE(bare.ending.out.find("total      21      22 T"), std::string::npos)
      << bare.ending.out << bare.ending.err;
  EXPECT_EQ(recorded.ending.out, bare.ending.out);
  EXPECT_EQ(recorded.ending.exit_code, bare.ending.exit_code);
  EXPECT_EQ(recorded.ending.exit_code, 3);
  const bool is_f08 = std::string(GetParam()) == "F08";
  if (is_mpich()) {
    EXPECT_NE(recorded.report.find("\"mpi_calls\": 32"), std::string::npos) << recorded.ending.err;
    return;  // its procedures call C's functions
  }
  EXPECT_NE(recorded.report.find(is_f08 ? "\"fortran08\"" : "\"fortran\""), std::string::npos)
      << recorded.ending.err;
  // Init, rank, size, ten exchanges, pcontrol, reduce, finalize; on each rank.
  EXPECT_NE(recorded.report.find("\"mpi_calls\": 32"), std::string::npos) << recorded.ending.err;
  EXPECT_NE(recorded.ending.err.find(is_f08 ? "called from Fortran (use mpi_f08)"
                                            : "called from Fortran (mpif.h, use mpi)"),
            std::string::npos)
      << recorded.ending.err;
}

/// What MPICH's `use mpi_f08` calls is not seen.
std::vector<const char*> interfaces() {
  std::vector<const char*> names = {"MPIFH", "USEMPI"};
  if (!is_mpich()) names.push_back("F08");
  return names;
}
INSTANTIATE_TEST_SUITE_P(Interfaces, FortranProgram, testing::ValuesIn(interfaces()));

}  // namespace
}  // namespace megascope::faults
