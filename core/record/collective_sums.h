#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <vector>

namespace megascope {

class WireReader;
class WireWriter;

/// Whether the members of a communicator called the same collectives can be told from this, without
/// asking them for more: equal in all of them when they did, and else, but by chance, not.
struct CollectiveSum {
  std::uint64_t count = 0;
  std::uint64_t hash = 0;  ///< over function, number and root of each, in any order
  std::uint64_t
      reached = 0;  ///< the greatest number, + 1; more than `count` when some were not recorded

  bool operator==(const CollectiveSum&) const = default;
};

/// The collectives of one process, by communicator: windows and files that are made on it count as
/// well. Bytes are left out: in many collectives they differ by rank. So are the roots of
/// intercommunicators, which the two groups name differently. One thread at a time. Memory: 24
/// bytes a communicator.
class CollectiveSums {
 public:
  /// Before collectives on it are added.
  void define(const CommDefinition& comm) {
    if (comm.id >= slots_.size() && !make_room(comm.id)) return;
    slots_[comm.id].root_mask = comm.kind == CommKind::kInter ? 0 : 0xFFFFFFFF;
  }

  /// region: the same function in all processes. About 1 ns.
  void add(CommId comm, RegionId region, std::uint32_t sequence, std::int32_t root) {
    if (comm >= slots_.size()) [[unlikely]] {
      if (!make_room(comm)) return;
    }
    Slot& slot = slots_[comm];
    const std::uint64_t call = std::uint64_t{sequence} << 32 |
                               (static_cast<std::uint32_t>(root) & slot.root_mask);
    ++slot.sum.count;
    slot.sum.hash += hash_of(call, region);
    if (sequence >= slot.sum.reached) slot.sum.reached = std::uint64_t{sequence} + 1;
  }

  /// A collective call on a file that was opened on comm: changes the hash alone.
  void add_on_file(CommId comm, RegionId region, std::uint32_t sequence) {
    constexpr std::uint64_t kFile = 0xA0761D6478BD642FU;
    if (comm < slots_.size()) slots_[comm].sum.hash += hash_of(sequence ^ kFile, region);
  }

  /// Of the same process.
  void merge(const CollectiveSums& other);
  /// Zeros for a communicator without collectives.
  CollectiveSum on(CommId comm) const {
    return comm < slots_.size() ? slots_[comm].sum : CollectiveSum{};
  }

  void serialize(WireWriter& to) const;
  /// Replaces the sums; what was defined stays. Faults are left in the reader.
  void parse(WireReader& from);

 private:
  struct Slot {
    CollectiveSum sum;
    std::uint32_t root_mask = 0xFFFFFFFF;
  };
  /// One multiplication; its upper half, mixed in, keeps sums of permuted calls apart.
  static std::uint64_t hash_of(std::uint64_t call, RegionId region) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{call ^ 0x9E3779B97F4A7C15U} * (region ^ 0xD1B54A32D192ED03U);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  bool make_room(CommId comm);

  std::vector<Slot> slots_;
};

}  // namespace megascope
