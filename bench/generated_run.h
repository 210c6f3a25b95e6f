#pragma once

#include "core/record/source.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace megascope::bench {

/// A run that is made while it is read, so that an exporter's own cost shows: ranks in a ring,
/// `round_count` rounds each.
class GeneratedRun final : public RecordSource {
 public:
  enum class Kind : std::uint8_t {
    kHalo,      ///< 2 MPI_Irecv, 2 MPI_Isend, MPI_Waitall, MPI_Allreduce
    kBlocking,  ///< MPI_Send, MPI_Recv, MPI_Bcast
    kMixed,     ///< a halo round, a blocking round, and three calls that only take time
  };

  /// The share of ranks first … first + count - 1 of world_size.
  GeneratedRun(Kind kind, std::int32_t world_size, std::int32_t first, std::int32_t count,
               std::uint64_t round_count);

  std::int32_t world_size() const override { return world_size_; }
  const std::vector<std::int32_t>& world_ranks() const override { return ranks_; }
  const ProcessDefinitions& process(std::int32_t rank) const override {
    return processes_[static_cast<std::size_t>(rank - ranks_.front())];
  }
  std::unique_ptr<CallStream> calls(std::int32_t rank, LocationId location) const override;
  std::int64_t start_realtime_ns() const override { return 1'700'000'000'000'000'000; }
  std::uint64_t end_ns() const override { return UINT64_MAX / 2; }

  /// Calls of one rank.
  std::uint64_t call_count() const;

 private:
  Kind kind_;
  std::int32_t world_size_;
  std::uint64_t round_count_;
  std::vector<std::int32_t> ranks_;
  std::vector<ProcessDefinitions> processes_;
};

}  // namespace megascope::bench
