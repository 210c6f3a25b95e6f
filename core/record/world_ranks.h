#pragma once

#include "core/record/definitions.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace megascope {

/// Maps ranks of a process's communicators to world ranks. Constant time if the members form one
/// run, else O(log runs). Keeps no reference to `process`. Any thread may read.
class WorldRanks {
 public:
  explicit WorldRanks(const ProcessDefinitions& process) {
    comms_.reserve(process.comms.size());
    for (const CommDefinition& comm : process.comms) {
      comms_.push_back(
          make_group(comm.kind == CommKind::kInter ? comm.remote_members : comm.members));
      comms_.back().is_remote = comm.kind == CommKind::kRemote;
    }
  }

  /// Returns the world rank of a peer. rank: rank in the communicator; for an intercommunicator,
  /// rank in the remote group. Returns kNoPeer if the communicator is unknown or `rank` is not a
  /// rank of it (kAnySource, kSelfRoot and similar values). If is_remote(comm), the result may be
  /// another member than the peer, because only members in this world are known.
  std::int32_t of(CommId comm, std::int32_t rank) const {
    if (comm >= comms_.size() || rank < 0 || rank >= comms_[comm].size) return kNoPeer;
    const Group& group = comms_[comm];
    auto run = group.runs.begin();
    if (group.runs.size() > 1) {
      run = std::ranges::upper_bound(group.runs, rank, {}, &Run::begin) - 1;
    }
    return run->first + (rank - run->begin) * run->stride;
  }

  /// Returns whether the communicator includes processes of another world.
  bool is_remote(CommId comm) const { return comm < comms_.size() && comms_[comm].is_remote; }

 private:
  struct Run {
    std::int32_t begin = 0;  ///< rank of its first member in the communicator
    std::int32_t first = 0;
    std::int32_t stride = 1;
  };
  struct Group {
    std::vector<Run> runs;
    std::int32_t size = 0;
    bool is_remote = false;
  };

  static Group make_group(const std::vector<RankRun>& members) {
    Group group;
    for (const RankRun& run : members) {
      if (run.count <= 0) continue;
      group.runs.push_back({group.size, run.first, run.stride});
      group.size += run.count;
    }
    return group;
  }

  std::vector<Group> comms_;
};

}  // namespace megascope
