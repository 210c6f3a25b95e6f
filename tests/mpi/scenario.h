#pragma once

#include "tests/faults/launch.h"
#include "tests/mpi/recorded.h"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace megascope::mpitest {

/// The process that a body runs in, or an expectation is about.
struct Who {
  int rank = 0;  ///< in MPI_COMM_WORLD
  int size = 1;

  int next() const { return (rank + 1) % size; }
  int previous() const { return (rank + size - 1) % size; }
};

/// A count or rank as an index.
constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);

/// What some ranks do, and what must be recorded of it. Defined as a constant of a test file, which
/// registers it; the scenarios of a file run one after another in one job, in the order of their
/// definition, with a barrier between them.
struct Scenario {
  using Body = void (*)(const Who& me);
  using Expected = Lines (*)(const Who& me);
  using Check = void (*)(const Recorded& run);

  /// name: "MpiSend.RecordsPeerTagAndBytes". expected: of a rank's main thread (see recorded.h);
  /// nullptr: `check` looks at everything itself. A line without values is for a call whose values
  /// other scenarios look at.
  Scenario(const char* name, Body body, Expected expected, std::vector<int> rank_counts = {1, 2, 4},
           Check check = nullptr);

  const char* name;
  Body body;
  Expected expected;
  std::vector<int> rank_counts;
  Check check;
};

/// What an error code is about; the code itself may say more (MPICH).
int error_class(int error_code);

/// A handle that MPI did not make.
template <class Handle>
Handle synthetic(std::uintptr_t bits) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(bits);
  else
    return static_cast<Handle>(bits);
}

/// Numbers of ranks of a scenario that MPICH plays with others than Open MPI, or (no numbers) not
/// at all.
std::vector<int> on_ranks_of(std::vector<int> open_mpi, std::vector<int> mpich);

/// In a body: what the program must see. A failure is printed and fails all tests of the run.
void expect(bool is_true, const char* what);

/// The main function of a test file: a test program, with --scenarios the MPI program that it
/// starts, and with --expected one that prints what the scenarios expect on one rank and more
/// (functions_covered_test.py).
int run_main(int argc, char** argv, int thread_level = MPI_THREAD_SINGLE);

}  // namespace megascope::mpitest
