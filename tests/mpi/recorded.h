#pragma once

#include "core/trace/run_files.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace megascope::mpitest {

/// Calls in words, one line a call: function, communicator, depth, and each fact with all that it
/// says:
///
///   MPI_Send on world | send to 1 tag 42 bytes 40
///   MPI_Irecv on world | irecv r1 from any tag any space 80
///   MPI_Wait | received r1 in world from 0 tag 42 bytes 40
///   MPI_Bcast on world | coll #0 root 0 sent 160 received 40
///
///   MPI_File_write_at on world | write data at 100 bytes 40          (more in file_words.h)
///   MPI_Put on world | put w1 target 1 sent 40 received 0            (more in rma_words.h)
///   MPI_Cart_rank on grid {coordinate_0 1, rank 3}                   (values:
///   core/record/value_fact.h)
///
/// r1 is the first request of the scenario, w1 its first window, #0 its first collective on the
/// communicator.
using Lines = std::vector<std::string>;

/// The line up to its values.
std::string without_values(const std::string& line);

/// What one job recorded, cut into its scenarios.
class Recorded {
 public:
  /// Reads a run directory. Problems are told as failures of the test.
  Recorded(const std::string& directory, int rank_count, std::size_t scenario_count);

  int rank_count() const { return rank_count_; }
  /// Of the main thread, in the scenario under test, with values; lines() are without.
  const Lines& recorded(int rank) const;
  /// Of the main thread, in the scenario under test.
  const Lines& lines(int rank) const { return lines(rank, 0); }
  /// location: of the threads that called MPI in this scenario, the main thread first.
  const Lines& lines(int rank, std::size_t location) const;
  std::size_t location_count(int rank) const;

  const ProcessDefinitions& process(int rank) const { return source_->process(rank); }
  /// By its last name; fails the test and returns an empty one when the rank has none or several.
  CommDefinition comm(int rank, const std::string& name) const;

  void select(std::size_t scenario) { scenario_ = scenario; }
  bool is_readable() const { return source_ != nullptr; }

 private:
  struct Reading;
  void read_rank(int rank, std::size_t scenario_count);
  void check_comms() const;
  void check_files() const;
  void check_windows() const;

  int rank_count_;
  std::size_t scenario_ = 0;
  std::unique_ptr<trace::RunSource> source_;
  std::vector<std::vector<std::map<LocationId, Lines>>> lines_;  ///< by rank and scenario
  std::vector<std::vector<Lines>> recorded_;                     ///< the same, of the main thread
};

/// The function whose call begins a scenario, and the one that ends it. No scenario calls the
/// first.
inline constexpr char kBeginMarker[] = "MPI_Query_thread";
inline constexpr char kEndMarker[] = "MPI_Barrier";

}  // namespace megascope::mpitest
