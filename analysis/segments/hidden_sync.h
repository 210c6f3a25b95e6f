#pragma once

#include "analysis/segments/region_run.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace megascope::segments {

inline constexpr std::uint32_t kNoInstance = 0xFFFFFFFF;

/// Identifies a segment, that is, a stretch of one thread's time that is either work or
/// communication (Segment). process: index in world_ranks(). segment: index among the segments of
/// the process, in RegionRun::processes[process].
struct SegmentRef {
  std::uint32_t process = 0;
  std::uint32_t segment = 0;
};

/// Work that contains synchronisation which no record shows: the members of a group begin an
/// operation at different times and end it together. The time of the shortest member counts as
/// work. The rest of each other member's time counts as waiting.
struct HiddenSync {
  /// An operation that synchronises the ranks of each group. It consists of the segments
  /// (SegmentRef) with the name `name`. A group consists of the ranks that differ only in their
  /// coordinates in `dimensions`.
  struct Operation {
    std::uint32_t name = 0;               ///< index in RegionRun::names
    std::vector<std::string> dimensions;  ///< for example {"tp"}; {"all"}: all ranks of the run
    double share = 0.0;  ///< time of this operation divided by the time of all work, 0 to 1
  };
  /// One execution of an operation by the members of one group.
  struct Instance {
    std::uint32_t first = 0;  ///< index in `members` of its first member
    std::uint32_t count = 0;
    std::uint32_t operation = 0;  ///< index in `operations`
    std::uint64_t work_ns = 0;    ///< duration of the shortest member
  };
  std::vector<Operation> operations;
  std::vector<Instance> instances;
  std::vector<SegmentRef> members;  ///< the members of all instances, one instance after the other;
                                    ///< within an instance, ascending by process
  std::vector<std::vector<std::uint32_t>>
      instance_of;  ///< by process and segment: index in `instances`; kNoInstance: the segment does
                    ///< not synchronise. Empty: no segment does.

  /// Returns whether any synchronisation was found.
  bool is_there() const { return !instances.empty(); }
  /// Returns the instance of a segment, or kNoInstance.
  std::uint32_t instance(std::size_t process, std::size_t segment) const {
    return instance_of.empty() ? kNoInstance : instance_of[process][segment];
  }
  std::span<const SegmentRef> members_of(const Instance& instance) const {
    return std::span(members).subspan(instance.first, instance.count);
  }
};

/// Coordinates of processes: for each dimension ("tp", "pp", "dp") the index of each process.
/// Empty: all processes are one group.
using Coordinates = std::map<std::string, std::vector<std::int32_t>>;

/// The evidence that find_hidden_sync() requires, in addition to common ends.
struct SyncRule {
  /// What must vary from one execution to the next, so that ends at the same time are evidence of
  /// hidden synchronisation.
  /// - true: the distances between the members' begins. Set it for gaps between MPI calls: their
  ///   durations may vary together without synchronisation, for example if data grow on all ranks.
  ///   If the distances are constant, as between stages of a pipeline, ends at the same time may be
  ///   a coincidence.
  /// - false: the durations. Set it for GPU operations, whose durations vary independently of each
  ///   other.
  bool needs_apart_begins = false;
  /// Used with needs_apart_begins. Index in RegionRun::names: the name of gaps that are in no
  /// region. Common ends of such segments are compared with the distances of their begins only.
  /// Common ends of other segments are also compared with how much work of unrelated processes
  /// varies.
  std::uint32_t unnamed = kNoInstance;
};

/// Finds work that contains synchronisation, from begin and end times alone. Tests each kind of
/// segment in each dimension separately. A test needs at least 12 executions in which all members
/// of a group took part. Kinds that take less than 0.05 % of all work are ignored. Clocks may be
/// off by an amount that is constant within a step. Returns an empty result if nothing is found.
/// Deterministic; pure function.
HiddenSync find_hidden_sync(const RegionRun& run, const Coordinates& coordinates,
                            const SyncRule& rule = {});

}  // namespace megascope::segments
