#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <vector>

namespace megascope {

class WireReader;
class WireWriter;

/// Checksum of the collectives on one communicator. It is equal in all members if they called the
/// same collectives, and otherwise different with high probability, so that mismatches are found
/// without exchanging the calls.
struct CollectiveSum {
  std::uint64_t count = 0;
  std::uint64_t
      hash = 0;  ///< over function, sequence number and root of each call, independent of order
  std::uint64_t reached = 0;  ///< largest sequence number + 1; larger than `count` if some calls
                              ///< were not recorded

  bool operator==(const CollectiveSum&) const = default;
};

/// Checksums of the collectives of one process, by communicator. The creation of windows and the
/// opening of files on a communicator count as collectives on it. The checksums do not include
/// bytes, which differ between ranks in many collectives, and roots on intercommunicators, which
/// the two groups name differently. One thread at a time. 24 bytes for each communicator.
class CollectiveSums {
 public:
  /// Announces a communicator. Call before collectives on it are added.
  void define(const CommDefinition& comm) {
    if (comm.id >= slots_.size() && !make_space(comm.id)) return;
    slots_[comm.id].root_mask = comm.kind == CommKind::kInter ? 0 : 0xFFFFFFFF;
  }

  /// Adds a collective. region: must identify the same function in all processes. About 1 ns.
  void add(CommId comm, RegionId region, std::uint32_t sequence, std::int32_t root) {
    if (comm >= slots_.size()) [[unlikely]] {
      if (!make_space(comm)) return;
    }
    Slot& slot = slots_[comm];
    const std::uint64_t call = std::uint64_t{sequence} << 32 |
                               (static_cast<std::uint32_t>(root) & slot.root_mask);
    ++slot.sum.count;
    slot.sum.hash += hash_of(call, region);
    if (sequence >= slot.sum.reached) slot.sum.reached = std::uint64_t{sequence} + 1;
  }

  /// Adds a collective call on a file that was opened on `comm`. Changes the hash only.
  void add_on_file(CommId comm, RegionId region, std::uint32_t sequence) {
    constexpr std::uint64_t kFile = 0xA0761D6478BD642FU;
    if (comm < slots_.size()) slots_[comm].sum.hash += hash_of(sequence ^ kFile, region);
  }

  /// Adds the sums of another object of the same process.
  void merge(const CollectiveSums& other);
  /// Returns the sum of one communicator; zeros if it has no collectives.
  CollectiveSum on(CommId comm) const {
    return comm < slots_.size() ? slots_[comm].sum : CollectiveSum{};
  }

  void serialize(WireWriter& to) const;
  /// Replaces the sums by those that it reads and keeps the announced communicators. from.is_ok()
  /// is false after an error.
  void parse(WireReader& from);

 private:
  struct Slot {
    CollectiveSum sum;
    std::uint32_t root_mask = 0xFFFFFFFF;
  };
  /// Hashes one call with one multiplication. The upper half of the product is included, so that
  /// the sum changes if the functions of two calls are exchanged.
  static std::uint64_t hash_of(std::uint64_t call, RegionId region) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{call ^ 0x9E3779B97F4A7C15U} * (region ^ 0xD1B54A32D192ED03U);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  bool make_space(CommId comm);

  std::vector<Slot> slots_;
};

}  // namespace megascope
