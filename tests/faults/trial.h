#pragma once

#include "core/record/definitions.h"
#include "core/trace/recover.h"
#include "tests/faults/ledger.h"
#include "tests/faults/process.h"
#include "tests/support/temporary_directory.h"

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace megascope::faults {

/// One call of a trace, as far as these tests compare it.
struct Row {
  std::string function;
  std::int32_t tag = -1;  ///< of the first message of it; -1: none
  int depth = 0;
  bool is_pending = false;
  bool was_left = false;  ///< by an exception, a jump or the thread's end

  bool operator==(const Row&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Row& row);

/// A trace as it lies in a run directory.
struct Read {
  ProcessDefinitions definitions;
  std::vector<std::vector<Row>> locations;

  std::uint64_t call_count() const;
  std::uint64_t loss_count() const;
};

/// One run of the victim in a directory of its own, bare or with the library, and what it leaves
/// behind.
class Trial {
 public:
  explicit Trial(std::string mode, std::uint64_t count = 100)
      : mode_(std::move(mode)), count_(count) {}

  /// More of the environment: NAME=VALUE.
  Trial& with(const std::string& entry);
  Trial& before_exec(std::function<void()> action);
  /// In order: mpirun with this number of ranks instead of a single process.
  Trial& ranks(int count);

  Command bare() const;
  Command preloaded() const;
  /// With something else in LD_PRELOAD.
  Command preloaded_with(const std::string& preload) const;

  /// The run directory lies elsewhere: on another file system than scratch.
  Trial& runs_into(std::string directory);

  std::string run_directory() const {
    return run_directory_.empty() ? directory_ / "run" : run_directory_;
  }
  std::string scratch() const { return directory_ / "scratch"; }
  const test::TemporaryDirectory& directory() const { return directory_; }

  /// The victim's book; null when it never opened one.
  const Ledger* ledger(int rank = 0) const;
  /// Recovers the run directory and reads a rank's trace. Fails the test when there is none.
  Read recovered(int rank = 0) const;
  /// Reads it as it is.
  Read trace(int rank = 0) const;
  /// A number of report.json, -1 when it is not there. key: of the top level.
  std::int64_t report_number(const std::string& key) const;
  std::int64_t losses_reported() const;

 private:
  std::vector<std::string> common() const;
  Command command(const std::string& preload) const;
  test::TemporaryDirectory directory_;
  std::string run_directory_;
  std::string mode_;
  std::uint64_t count_;
  int ranks_ = 0;
  std::vector<std::string> environment_;
  std::function<void()> before_exec_;
};

/// What the book says, as rows of depth 0.
std::vector<Row> booked(const Ledger& ledger);

/// The trace is the book: every call that returned, in order, and at most one more, which had
/// returned without being written down, or is shown as pending. Calls made inside of others are
/// compared by function and tag alone.
void expect_ledger(const std::vector<Row>& rows, const Ledger& ledger);

}  // namespace megascope::faults
