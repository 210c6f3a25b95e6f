#pragma once

#include "core/base/status.h"
#include "core/profile/collective_sums.h"
#include "core/profile/file_sums.h"
#include "core/profile/region_sums.h"
#include "core/profile/site_sums.h"
#include "core/record/definitions.h"
#include "core/record/event_view.h"
#include "core/record/point.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// Peers of a call's messages.
enum class PeerClass : std::uint8_t {
  kNone,   ///< no message in this call (collectives, local calls, waits that received nothing)
  kSelf,   ///< this process only
  kOther,  ///< one or several other processes
  kAny,    ///< a receive posted for any source and not matched in this call
};

/// Returns the size class of a message. Class 0 is 0 bytes; class c contains 2^(c-1) to 2^c - 1
/// bytes.
inline constexpr std::uint8_t size_class(std::uint64_t bytes) {
  return static_cast<std::uint8_t>(std::bit_width(bytes));
}
inline constexpr std::size_t kSizeClassCount = 65;
/// Returns the smallest number of bytes in a class.
inline constexpr std::uint64_t size_class_floor(unsigned index) {
  return index == 0 ? 0 : std::uint64_t{1} << (index - 1);
}

/// Values of `comm` and `sizes` in a row that contains calls with several keys. Such rows are used
/// when there are more than kMaxProfileKeys keys.
inline constexpr CommId kMixedComms = 0xFFFFFFFE;
inline constexpr std::uint8_t kMixedSizes = 0xFF;

inline constexpr std::size_t kMaxProfileKeys = 4096;
inline constexpr std::size_t kMaxProfilePeers = 4096;
/// Largest number of rows: one for each of kMaxProfileKeys keys, one for the other keys of each of
/// 1024 functions, and one for all remaining calls.
inline constexpr std::size_t kMaxProfileRows = kMaxProfileKeys + 1024 + 1;

struct ProfileKey {
  RegionId region = kNoRegion;
  CommId comm = kNoComm;   ///< communicator argument of the call. Without one, the communicator of
                           ///< its messages if it is the same for all; else kNoComm
  std::uint8_t sizes = 0;  ///< size_class(sent + received)
  PeerClass peer = PeerClass::kNone;

  bool operator==(const ProfileKey&) const = default;
};

/// Packs a key into one word.
constexpr std::uint64_t pack(const ProfileKey& key) {
  return std::uint64_t{key.region} << 48 | std::uint64_t{key.comm} << 16 |
         std::uint64_t{key.sizes} << 8 | static_cast<std::uint64_t>(key.peer);
}

/// The inverse of pack().
constexpr ProfileKey unpack(std::uint64_t packed) {
  return {.region = static_cast<RegionId>(packed >> 48),
          .comm = static_cast<CommId>(packed >> 16),
          .sizes = static_cast<std::uint8_t>(packed >> 8),
          .peer = static_cast<PeerClass>(packed & 0xFF)};
}

/// Sums over calls. Times are in the unit of the calls that were added: ns, or ticks of the
/// process's clock.
struct CallTotals {
  std::uint64_t calls = 0;     ///< calls that returned
  std::uint64_t time = 0;      ///< outermost calls, including those pending at the end
  std::uint64_t max_time = 0;  ///< longest call
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;

  void add(const CallTotals& other);
  bool operator==(const CallTotals&) const = default;
};

struct ProfileRow {
  ProfileKey key;
  CallTotals totals;

  bool operator==(const ProfileRow&) const = default;
};

/// Messages to one process. One row, with world_rank kNoPeer, stands for all destinations that are
/// unknown or have no row of their own.
struct PeerTotals {
  std::int32_t world_rank = kNoPeer;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  void add(const PeerTotals& other);
  bool operator==(const PeerTotals&) const = default;
};

struct SizeTotals {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  bool operator==(const SizeTotals&) const = default;
};

/// Statistics of one process's MPI calls: sums by function, communicator, size class and peer
/// class; a row of the communication matrix; file statistics. Bounded, however long the run is:
/// keys that do not fit share one row for each function.
///
/// - Sends are counted in the call that starts them, receives in the call that completes them
///   (for example MPI_Recv, MPI_Waitall).
/// - Collectives and one-sided operations are counted in the call that starts them and are not part
///   of the communication matrix.
/// - File bytes are counted in the call that reports how many were read (received) or written
///   (sent).
/// - Time in a call inside a callback of another call (depth > 0) belongs to the outer one: the
///   times of all rows add up to the time in MPI.
/// - Annotated regions are summed separately.
///
/// One thread at a time. add() allocates only while tables grow, and takes a few ns otherwise.
class Profile {
 public:
  /// Announces the objects that calls refer to: the process, regions and communicators. May be
  /// called again when there are more definitions. A call on an unknown communicator is counted,
  /// but its destination is unknown.
  void define(const ProcessDefinitions& definitions);
  void define(const RegionDefinition& region);
  void define(const CommDefinition& comm);
  void define(const FileDefinition& file) { files_.define(file); }
  void set_world_rank(std::int32_t world_rank) { world_rank_ = world_rank; }

  void add(const Call& call);

  /// A call that has returned, without its fact. The functions add_plain(), add_collective(),
  /// add_message(), add_exchange() and add_one_sided() take the fact as arguments. Each has the
  /// same result as add() with a Call that has this fact, and is faster, because no Call is
  /// created. If the region is not an MPI function, they add the call to the annotated regions
  /// instead.
  struct PlainCall {
    RegionId region = kNoRegion;
    CommId comm = kNoComm;
    std::uint8_t depth = 0;
    std::uint64_t enter = 0;
    std::uint64_t time = 0;
    std::uint64_t sent = 0;  ///< bytes sent by a collective or one-sided call
    std::uint64_t received = 0;
  };
  /// Adds a call without facts.
  void add_plain(const PlainCall& call) {
    if (is_foreign(call.region)) [[unlikely]]
      return regions_.add(call.region, call.time);
    add_to_row(call, PeerClass::kNone);
  }
  /// Adds a collective call on call.comm. sequence: its number on the communicator. root: kNoPeer
  /// if it has none. The bytes are call.sent and call.received.
  void add_collective(const PlainCall& call, std::uint32_t sequence, std::int32_t root) {
    if (is_foreign(call.region)) [[unlikely]]
      return regions_.add(call.region, call.time);
    collectives_.add(call.comm, call.region, sequence, root);
    add_to_row(call, PeerClass::kNone);
  }
  /// Adds a call with one message on call.comm: sent to `peer` if is_sent, else received from
  /// `peer`.
  void add_message(PlainCall call, bool is_sent, std::int32_t peer, std::uint64_t bytes) {
    if (is_foreign(call.region)) [[unlikely]]
      return regions_.add(call.region, call.time);
    KnownPeer& known = known_peer(call.comm, peer);
    if (is_sent) note_sent(bytes, known);
    (is_sent ? call.sent : call.received) = bytes;
    add_to_row(call, class_of(known, peer));
  }
  /// Adds a call with one message of call.sent bytes to `to` and one of call.received bytes from
  /// `from`, both on call.comm (MPI_Sendrecv).
  void add_exchange(const PlainCall& call, std::int32_t to, std::int32_t from) {
    if (is_foreign(call.region)) [[unlikely]]
      return regions_.add(call.region, call.time);
    KnownPeer& known = known_peer(call.comm, to);
    note_sent(call.sent, known);
    const PeerClass sent = class_of(known, to);
    const PeerClass received = class_of(known_peer(call.comm, from), from);
    add_to_row(call, sent == received ? sent : PeerClass::kOther);
  }
  /// Adds a call with a one-sided operation on `target` in call.comm. The bytes are call.sent and
  /// call.received.
  void add_one_sided(const PlainCall& call, std::int32_t target) {
    if (is_foreign(call.region)) [[unlikely]]
      return regions_.add(call.region, call.time);
    add_to_row(call, class_of(known_peer(call.comm, target), target));
  }
  /// Adds a call to the sums of its call site. The call itself must have been added by one of the
  /// functions above. Ignores calls whose region is not an MPI function.
  void add_site(const PlainCall& call, std::uint32_t site) {
    if (is_foreign(call.region)) return;  // regions have no call site
    sites_.add(
        {.site = site, .region = call.region, .calls = 1, .time = call.depth == 0 ? call.time : 0});
  }
  /// Adds the sums of an annotated region.
  void add_region(const RegionTotals& totals) { regions_.add(totals); }
  /// Add the start and the stop of a range, which is an interval that need not nest with regions.
  /// add_range_start() adds 1 to the count, add_range_stop() adds the time.
  void add_range_start(RegionId name) { regions_.add({.region = name, .count = 1}); }
  void add_range_stop(RegionId name, std::uint64_t time) {
    regions_.add({.region = name, .count = 0, .time = time, .max_time = time});
  }
  /// Adds the start or stop of a range; ignores other points.
  void add(const Point& point);
  /// Adds the sums of another profile of the same process (same ids, same unit of time).
  void merge(const Profile& other);

  /// Returns the sums over all rows.
  CallTotals totals() const;
  /// Returns the rows by ascending region, communicator, sizes and peer.
  std::vector<ProfileRow> rows() const;
  /// Returns the destinations by ascending world rank. The first row is that with world_rank
  /// kNoPeer, if it has messages.
  std::vector<PeerTotals> peers() const;
  /// Checksums of collectives, by communicator.
  const CollectiveSums& collectives() const { return collectives_; }
  /// File statistics.
  const FileSums& files() const { return files_; }
  /// Sums by call site, if call sites are recorded.
  const SiteSums& sites() const { return sites_; }
  /// Sums of annotated regions.
  const RegionSums& regions() const { return regions_; }
  /// Point-to-point messages sent, by size class.
  const std::array<SizeTotals, kSizeClassCount>& message_sizes() const { return sizes_; }
  /// Return the time of the first entry and of the last return of a call; 0 if no call was added.
  std::uint64_t first_enter() const { return is_empty() ? 0 : first_enter_; }
  std::uint64_t last_leave() const { return last_leave_; }
  bool is_empty() const { return keys_.size() == 0; }
  /// Number of calls in rows with kMixedComms.
  std::uint64_t mixed_call_count() const { return mixed_call_count_; }

  /// Appends the sums, without the definitions, in wire form.
  void serialize(std::vector<std::byte>& to) const;
  /// Replaces the sums. from: untrusted; malformed bytes give an error and never more memory than
  /// the bounds above.
  Status parse(std::span<const std::byte> from);

 private:
  /// Hash index from 64-bit keys to consecutive indices in order of first use. Open addressing;
  /// doubles when half full.
  class KeyIndex {
   public:
    static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;
    std::uint32_t find(std::uint64_t key) const;
    std::uint32_t insert(std::uint64_t key);  ///< the key must be absent
    std::size_t size() const { return keys_.size(); }
    std::uint64_t key(std::size_t index) const { return keys_[index]; }

   private:
    struct Slot {
      std::uint64_t key = 0;
      std::uint32_t index = kAbsent;
    };
    std::size_t slot_of(std::uint64_t key) const;
    std::vector<Slot> slots_;
    std::vector<std::uint64_t> keys_;
  };
  struct Run {
    std::int32_t begin = 0;  ///< first rank in the communicator
    RankRun ranks;
  };
  struct CallShape;

  /// Cache entry of a peer: its world rank and its row in peers_.
  struct KnownPeer {
    CommId comm = kNoComm;
    std::int32_t peer = kNoPeer;
    std::int32_t world_rank = kNoPeer;
    std::uint32_t
        index = KeyIndex::kAbsent;  ///< row in peers_; kAbsent before the first send to this peer
  };

  void note(const Fact& fact, RegionId region, CallShape& shape);
  void note_file(events::OnFile event, CallShape& shape);
  void find_peer(KnownPeer& known);
  void learn_peer(KnownPeer& known, CommId comm, std::int32_t peer) const;
  std::int32_t world_rank_of(CommId comm, std::int32_t peer) const;
  CallTotals& find_row(std::uint64_t packed, std::uint64_t call_count);
  CallTotals& append_row(std::uint64_t packed);
  PeerTotals& peer(std::int32_t world_rank);

  bool is_foreign(RegionId region) const {
    return region < is_foreign_.size() && is_foreign_[region] != 0;
  }
  KnownPeer& known_peer(CommId comm, std::int32_t peer) {
    KnownPeer&
        known = known_peers_[(static_cast<std::uint32_t>(peer) + comm * 7) % kKnownPeerCount];
    if (known.peer != peer || known.comm != comm) [[unlikely]]
      learn_peer(known, comm, peer);
    return known;
  }
  PeerClass class_of(const KnownPeer& known, std::int32_t peer) const {
    if (peer == kAnySource) return PeerClass::kAny;
    return known.world_rank == world_rank_ && world_rank_ != kNoPeer ? PeerClass::kSelf
                                                                     : PeerClass::kOther;
  }
  void note_sent(std::uint64_t bytes, KnownPeer& known) {
    if (known.index == KeyIndex::kAbsent) [[unlikely]]
      find_peer(known);
    PeerTotals& to = known.index == KeyIndex::kAbsent ? unlisted_peers_ : peers_[known.index];
    ++to.messages;
    to.bytes += bytes;
    SizeTotals& sizes = sizes_[size_class(bytes)];
    ++sizes.messages;
    sizes.bytes += bytes;
  }
  CallTotals& row(std::uint64_t packed, std::uint64_t call_count) {
    const KnownRow& known = known_rows_[known_row_of(packed)];
    if (known.key == packed && known.index != KeyIndex::kAbsent) [[likely]]
      return totals_[known.index];
    return find_row(packed, call_count);
  }
  static std::size_t known_row_of(std::uint64_t packed) {
    return ((packed ^ packed >> 40) * 0x9E3779B97F4A7C15U) >> 56;
  }
  void add_to_row(const PlainCall& call, PeerClass peer) {
    CallTotals& totals = row(
        pack({call.region, call.comm, size_class(call.sent + call.received), peer}), 1);
    ++totals.calls;
    totals.bytes_sent += call.sent;
    totals.bytes_received += call.received;
    if (call.depth == 0) {
      totals.time += call.time;
      if (call.time > totals.max_time) totals.max_time = call.time;
    }
    if (call.enter < first_enter_) first_enter_ = call.enter;
    if (call.enter + call.time > last_leave_) last_leave_ = call.enter + call.time;
  }

  std::int32_t world_rank_ = kNoPeer;
  std::vector<std::uint8_t> is_foreign_;  ///< by RegionId: not an MPI function
  std::vector<std::vector<Run>> comms_;   ///< by CommId: members; empty: not announced
  KeyIndex keys_;
  std::vector<CallTotals> totals_;
  KeyIndex peer_keys_;
  std::vector<PeerTotals> peers_;
  PeerTotals unlisted_peers_;
  static constexpr std::size_t kKnownPeerCount = 64;
  std::array<KnownPeer, kKnownPeerCount> known_peers_{};
  std::array<SizeTotals, kSizeClassCount> sizes_{};
  FileSums files_;
  SiteSums sites_;
  void add_region(const Call& call);
  RegionSums regions_;
  CollectiveSums collectives_;
  std::uint64_t first_enter_ = UINT64_MAX;
  std::uint64_t last_leave_ = 0;
  std::uint64_t mixed_call_count_ = 0;
  struct KnownRow {
    std::uint64_t key = 0;
    std::uint32_t index = KeyIndex::kAbsent;
  };
  std::array<KnownRow, 256> known_rows_{};  ///< cache of rows; does not contain mixed rows
};

}  // namespace megascope
