#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "core/record/definitions.h"
#include "core/record/source.h"
#include "exporters/otf2/shared_call_sites.h"
#include "exporters/otf2/shared_counters.h"
#include "exporters/otf2/shared_files.h"
#include "exporters/otf2/shared_windows.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace megascope::otf2 {

/// A communicator as all its members know it. `key` is a hash of kind, global name and members.
/// Different communicators therefore have different keys, even if traces are inconsistent. A key is
/// never 0.
struct SharedComm {
  std::uint64_t key = 0;
  std::uint64_t parent_key = 0;  ///< 0: none, or unknown
  CommKind kind = CommKind::kIntra;
  std::string name;
  std::vector<RankRun> members;  ///< world ranks. kInter: those of group A. kSelf: empty
  /// kInter: group B. Group A is the one with the lowest world rank.
  std::vector<RankRun> remote_members;
};

/// The definitions of several processes, without duplicates, in order of first appearance by world
/// rank. The index in each of these lists is an OTF2 id.
struct SharedDefinitions {
  std::vector<RegionDefinition> regions;  ///< `id` is unused
  std::vector<SharedComm> comms;
  std::vector<SharedCounter> counters;
  SharedFiles files;
  SharedWindows windows;
  SharedCallSites call_sites;
  /// Names of inter-world communicators, without duplicates. Their strings follow those of the call
  /// sites.
  std::vector<std::string> remote_worlds;
  std::vector<RankRun> world_ranks;     ///< processes whose definitions are included
  std::vector<RankRun> threaded_ranks;  ///< of these, processes with several threads
  /// true: intercommunicators are written as communicators, with the ranks of group A before those
  /// of group B. Set by MEGASCOPE_OTF2_INTERCOMM on member 0; encode_definitions() does not encode
  /// it.
  bool has_plain_comms = false;
};

/// Returns the definitions of all processes of a source.
SharedDefinitions collect_definitions(const RecordSource& source);
/// Appends the entries that `mine` lacks. O(both).
void merge_definitions(SharedDefinitions& mine, SharedDefinitions theirs);

Collective::Bytes encode_definitions(const SharedDefinitions& definitions);
/// Returns an error if the bytes are not from encode_definitions().
Status decode_definitions(std::span<const std::byte> bytes, SharedDefinitions& definitions);

/// Returns the key by which regions are unified. The keys of a user region and of an MPI function
/// of the same name differ.
std::string region_key(const RegionDefinition& region);

/// OTF2 ids by name. The same on all members.
struct IdTable {
  std::unordered_map<std::string, std::uint32_t> regions;  ///< by region_key()
  CounterIds counters;
  std::unordered_map<std::uint64_t, std::uint32_t> comms;  ///< by key
  std::vector<std::string> remote_worlds;
  FileIds files;
  WindowIds windows;
  CallSiteIds call_sites;
  std::vector<RankRun> world_ranks;     ///< processes with a trace, on any member
  std::vector<RankRun> threaded_ranks;  ///< of these, processes with several threads
  bool has_plain_comms = false;         ///< as SharedDefinitions::has_plain_comms
  /// Returns the OTF2 id of the region that is used for calls whose region the trace does not
  /// define.
  std::uint32_t undefined_region() const { return static_cast<std::uint32_t>(regions.size()); }
};

/// Unifies the definitions of all members in O(log members) rounds. Collective. all: complete on
/// member 0, unspecified elsewhere. has_plain_comms: member 0's value is used.
Status unify_definitions(const RecordSource& source, Collective& members, SharedDefinitions& all,
                         IdTable& ids, bool has_plain_comms = false);

/// OTF2 ids of one process's definitions.
class ProcessIds {
 public:
  ProcessIds(const ProcessDefinitions& definitions, std::int32_t world_size, const IdTable& ids);

  std::uint32_t undefined_region() const { return undefined_region_; }
  std::uint32_t region(RegionId id) const {
    return id < regions_.size() ? regions_[id] : undefined_region_;
  }
  /// Returns the operation of a region; kNone if the region is not a collective.
  CollectiveOp collective_op(RegionId id) const {
    return id < operations_.size() ? operations_[id] : CollectiveOp::kNone;
  }
  /// Returns the id of a communicator; OTF2_UNDEFINED_COMM if the trace does not define it.
  std::uint32_t comm(CommId id) const { return id < comms_.size() ? comms_[id] : kUndefinedComm; }

  /// Returns the rank of a peer as OTF2 defines it. For an intercommunicator, this is the rank in
  /// the remote group. If has_plain_comms, it is the rank in the communicator that contains both
  /// groups.
  std::uint32_t peer(CommId id, std::int32_t rank) const {
    return static_cast<std::uint32_t>(
        id < plain_.size() && plain_[id].is_plain ? plain_[id].first_remote + rank : rank);
  }
  /// Returns the root of a collective as OTF2 defines it. root: a rank, kSelfRoot, kProcNullRoot or
  /// kNoPeer.
  std::uint32_t root(CommId id, std::int32_t root) const;

  /// Returns the string id of the name of an inter-world communicator; kNoText for other
  /// communicators.
  std::uint32_t remote_world(CommId id) const {
    return id < remote_worlds_.size() ? remote_worlds_[id] : kNoText;
  }

  const ProcessCounters& counters() const { return counters_; }
  const ProcessFiles& files() const { return files_; }
  const ProcessWindows& windows() const { return windows_; }
  const ProcessCallSites& call_sites() const { return call_sites_; }

  static constexpr std::uint32_t kNoText = 0xFFFFFFFF;         ///< OTF2_UNDEFINED_STRING
  static constexpr std::uint32_t kUndefinedComm = 0xFFFFFFFF;  ///< OTF2_UNDEFINED_COMM

 private:
  std::vector<std::uint32_t> regions_;  ///< by RegionId
  std::vector<CollectiveOp> operations_;
  /// Ranks in an intercommunicator that is written as a communicator.
  struct PlainComm {
    bool is_plain = false;
    std::int32_t first_remote = 0;  ///< rank in the communicator of rank 0 of the remote group
    std::int32_t own = 0;           ///< rank in the communicator of this process
  };
  static PlainComm plain_comm(const CommDefinition& comm, const SharedComm& shared);

  std::vector<std::uint32_t> comms_;          ///< by CommId
  std::vector<PlainComm> plain_;              ///< by CommId; empty if has_plain_comms is false
  std::vector<std::uint32_t> remote_worlds_;  ///< by CommId
  ProcessCounters counters_;
  ProcessFiles files_;
  ProcessWindows windows_;
  ProcessCallSites call_sites_;
  std::uint32_t undefined_region_ = 0;
};

}  // namespace megascope::otf2
