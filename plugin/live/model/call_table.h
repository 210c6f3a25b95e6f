#pragma once

#include "plugin/capture/rank_update.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace megascope::live {

/// MPI calls of an application that annotates no steps: totals of each function over ranks, for the
/// whole run and for each rank's latest interval; time in MPI by rank; point-to-point bytes by
/// sender and receiver. One thread.
class CallTable {
 public:
  static constexpr std::uint32_t kMaxCells = 256;  ///< limit for rows and for columns of the matrix
  static constexpr std::size_t kMaxFunctions = 512;
  /// Limit of sender-receiver pairs. Further pairs are ignored and counted.
  static constexpr std::size_t kMaxPairs = 1 << 18;

  /// Adds a report of one rank. ranks: size of the world. If the totals of a function or of a peer
  /// are less than in the rank's previous report, they are damaged. Ignores these totals, and adds
  /// the rest of the report.
  void add(std::int32_t world_rank, std::uint32_t ranks, const capture::CallSums& sums);

  /// One MPI function, summed over ranks.
  struct Function {
    std::string name;
    capture::CallSum total;   ///< of the whole run
    capture::CallSum newest;  ///< of each rank's latest interval
  };
  /// Time in MPI of one rank.
  struct Rank {
    double elapsed_ms = 0.0;  ///< since the rank's first call; 0: unknown
    double mpi_ms = 0.0;
  };
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Rank>& ranks() const { return ranks_; }
  /// Returns the number of consecutive ranks that one row or column of the matrix combines.
  std::uint32_t cell_ranks() const { return cell_ranks_; }
  /// Returns the number of rows, which is also the number of columns, of the matrix.
  std::uint32_t cells() const { return cells_; }
  /// Return the matrix [cells][cells] of bytes or messages; the first index is the sender.
  const std::vector<double>& bytes() const { return bytes_; }
  const std::vector<double>& messages() const { return messages_; }
  /// Increments with each change.
  std::uint64_t version() const { return version_; }
  /// Returns the index of the latest interval of any rank, counted from the first reported
  /// interval. Returns -1 if there was no report.
  std::int64_t newest() const { return newest_; }
  std::uint64_t ignored_pairs() const { return ignored_pairs_; }

 private:
  struct Source {
    std::int64_t index = 0;
    std::unordered_map<std::uint32_t, capture::CallSum> totals;  ///< by function id
    std::unordered_map<std::uint32_t, capture::CallSum> newest;  ///< of the rank's latest interval
    std::unordered_map<std::int32_t, capture::PeerSum> peers;
  };
  void begin(std::uint32_t ranks);
  void add_function(Source& source, Rank& rank, const std::string& name,
                    const capture::CallSum& sum);
  void add_peer(Source& source, std::int32_t world_rank, const capture::PeerSum& sum);

  std::vector<Function> functions_;
  std::map<std::string, std::uint32_t> function_ids_;
  std::vector<Source> sources_;
  std::vector<Rank> ranks_;
  std::uint32_t cell_ranks_ = 1;
  std::uint32_t cells_ = 0;
  std::vector<double> bytes_;
  std::vector<double> messages_;
  std::size_t pairs_ = 0;
  std::uint64_t ignored_pairs_ = 0;
  std::uint64_t version_ = 0;
  std::int64_t first_index_ = 0;
  std::int64_t newest_ = -1;
};

}  // namespace megascope::live
