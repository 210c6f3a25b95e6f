#include "core/profile/profile.h"

#include "core/base/scarce_memory.h"
#include "core/record/user_regions.h"

#include <algorithm>

namespace megascope {
namespace {

constexpr CommId kMaxComms = 1U << 20;
constexpr std::uint64_t mixed_key(RegionId region) {
  return pack(
      {.region = region, .comm = kMixedComms, .sizes = kMixedSizes, .peer = PeerClass::kNone});
}

}  // namespace

/// What a call's facts determine about its row.
struct Profile::CallShape {
  CommId comm = kNoComm;
  bool has_comm = false;  ///< comm is decided, even if it is kNoComm
  PeerClass peer = PeerClass::kNone;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  FileSums::Row* file = nullptr;  ///< file that all facts name
  bool is_of_one_file = true;
  RequestId site = 0;  ///< 1 + number of the call site

  void on_file(FileSums::Row* other) {
    is_of_one_file = is_of_one_file && (file == nullptr || file == other);
    file = other;
  }
  void on_comm(CommId other) {
    if (!has_comm) {
      comm = other;
      has_comm = true;
    } else if (comm != other) {
      comm = kNoComm;
    }
  }
  void with_peer(PeerClass other) {
    if (peer == PeerClass::kNone) peer = other;
    if (peer != other) peer = PeerClass::kOther;
  }
};

void CallTotals::add(const CallTotals& other) {
  calls += other.calls;
  time += other.time;
  max_time = std::max(max_time, other.max_time);
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
}

void PeerTotals::add(const PeerTotals& other) {
  messages += other.messages;
  bytes += other.bytes;
}

std::size_t Profile::KeyIndex::slot_of(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> 32) & mask;
  while (slots_[slot].index != kAbsent && slots_[slot].key != key) slot = (slot + 1) & mask;
  return slot;
}

std::uint32_t Profile::KeyIndex::find(std::uint64_t key) const {
  return slots_.empty() ? kAbsent : slots_[slot_of(key)].index;
}

std::uint32_t Profile::KeyIndex::insert(std::uint64_t key) {
  if (keys_.size() * 2 >= slots_.size()) {
    std::vector<Slot> grown(std::max<std::size_t>(64, slots_.size() * 2));
    slots_.swap(grown);  // nothing below throws
    for (std::uint32_t i = 0; i < keys_.size(); ++i) slots_[slot_of(keys_[i])] = {keys_[i], i};
  }
  const auto index = static_cast<std::uint32_t>(keys_.size());
  keys_.push_back(key);
  slots_[slot_of(key)] = {key, index};
  return index;
}

void Profile::define(const ProcessDefinitions& definitions) {
  world_rank_ = definitions.info.world_rank;
  for (const RegionDefinition& region : definitions.regions) define(region);
  for (const CommDefinition& comm : definitions.comms) define(comm);
  for (const FileDefinition& file : definitions.files) define(file);
}

void Profile::define(const RegionDefinition& region) {
  if (region.id >= is_foreign_.size()) is_foreign_.resize(std::size_t{region.id} + 1);
  is_foreign_[region.id] = region.paradigm != Paradigm::kMpi ? 1 : 0;
}

void Profile::define(const CommDefinition& comm) {
  if (comm.id >= kMaxComms) return;
  if (comm.id >= comms_.size()) comms_.resize(comm.id + 1);
  collectives_.define(comm);
  std::vector<Run>& runs = comms_[comm.id];
  runs.clear();
  std::int32_t begin = 0;
  for (const RankRun& ranks : comm.kind == CommKind::kInter ? comm.remote_members : comm.members) {
    runs.push_back({begin, ranks});
    begin += ranks.count;
  }
  known_peers_.fill({});
}

std::int32_t Profile::world_rank_of(CommId comm, std::int32_t peer) const {
  if (comm >= comms_.size() || comms_[comm].empty() || peer < 0) return kNoPeer;
  const std::vector<Run>& runs = comms_[comm];
  const auto after = std::upper_bound(
      runs.begin(), runs.end(), peer,
      [](std::int32_t rank, const Run& run) { return rank < run.begin; });
  const Run& run = *(after - 1);  // the first run begins at 0
  const std::int32_t index = peer - run.begin;
  return index < run.ranks.count ? run.ranks.first + index * run.ranks.stride : kNoPeer;
}

CallTotals& Profile::append_row(std::uint64_t packed) {
  make_space(totals_);  // if memory runs out, neither grows
  keys_.insert(packed);
  return totals_.emplace_back();
}

CallTotals& Profile::find_row(std::uint64_t packed, std::uint64_t call_count) {
  const ProfileKey key = unpack(packed);
  const bool is_mixed = key.sizes == kMixedSizes;
  std::uint32_t index = keys_.find(packed);
  if (index == KeyIndex::kAbsent) {
    if (!is_mixed && keys_.size() >= kMaxProfileKeys)
      return find_row(mixed_key(key.region), call_count);
    if (is_mixed && key.region != kNoRegion && keys_.size() >= kMaxProfileRows - 1) {
      return find_row(mixed_key(kNoRegion), call_count);
    }
    index = static_cast<std::uint32_t>(keys_.size());
    append_row(packed);
  }
  if (is_mixed) {
    mixed_call_count_ += call_count;
  } else {
    known_rows_[known_row_of(packed)] = {packed, index};
  }
  return totals_[index];
}

PeerTotals& Profile::peer(std::int32_t world_rank) {
  const auto key = static_cast<std::uint32_t>(world_rank);
  const std::uint32_t index = peer_keys_.find(key);
  if (index != KeyIndex::kAbsent) return peers_[index];
  if (world_rank < 0 || peer_keys_.size() >= kMaxProfilePeers) return unlisted_peers_;
  make_space(peers_);
  peer_keys_.insert(key);
  peers_.push_back({.world_rank = world_rank});
  return peers_.back();
}

void Profile::learn_peer(KnownPeer& known, CommId comm, std::int32_t peer) const {
  known = {.comm = comm, .peer = peer, .world_rank = world_rank_of(comm, peer)};
}

void Profile::find_peer(KnownPeer& known) {
  peer(known.world_rank);
  known.index = peer_keys_.find(static_cast<std::uint32_t>(known.world_rank));
}

void Profile::note_file(events::OnFile event, CallShape& shape) {
  FileSums::Row& file = files_.row(event.file());
  file.note(event.fact());
  shape.on_file(&file);
  shape.on_comm(event.comm());
}

void Profile::note(const Fact& fact, RegionId region, CallShape& shape) {
  const auto note_partner = [&](CommId comm, std::int32_t peer) {
    shape.on_comm(comm);
    shape.with_peer(class_of(known_peer(comm, peer), peer));
  };
  events::visit(
      fact,
      events::Handler{
          [&](events::Send send) {
            note_sent(send.bytes(), known_peer(send.comm(), send.peer()));
            shape.bytes_sent += send.bytes();
            note_partner(send.comm(), send.peer());
          },
          [&](events::Receive receive) {
            shape.bytes_received += receive.bytes();
            note_partner(receive.comm(), receive.peer());
          },
          events::on<events::PostedReceive, events::MatchedProbe>(
              [&](auto message) { note_partner(message.comm(), message.peer()); }),
          [&](events::Collective collective) {
            collectives_.add(collective.comm(), region, collective.sequence(), collective.root());
            shape.bytes_sent += collective.bytes_sent();
            shape.bytes_received += collective.bytes_received();
            shape.on_comm(collective.comm());
          },
          [&](events::CollectiveCompletion collective) { shape.on_comm(collective.comm()); },
          [&](events::RmaOperation operation) {
            shape.bytes_sent += operation.bytes_to_target();
            shape.bytes_received += operation.bytes_from_target();
            note_partner(operation.comm(), operation.target());
          },
          [&](events::WindowUse use) {
            if (use.use() == events::WindowUse::Use::kCreated)
              collectives_.add(use.comm(), region, use.sequence(), kNoPeer);
          },
          [&](events::FileTransfer transfer) {
            note_file(transfer, shape);
            if (transfer.has_ended())
              (transfer.is_write() ? shape.bytes_sent
                                   : shape.bytes_received) += transfer.transferred();
          },
          [&](events::FileUse use) {
            if (use.use() == events::FileUse::Use::kOpened)
              collectives_.add(use.comm(), region, use.sequence(), kNoPeer);
            note_file(use, shape);
          },
          [&](events::FileCollective call) {
            if (call.comm() != kNoComm)
              collectives_.add(call.comm(), region, call.sequence(), kNoPeer);
            else
              collectives_.add_on_file(shape.comm, region, call.number());
          },
          [&](events::CallSite called) { shape.site = called.site() + 1; },
          // Completed sends were counted when they started.
          events::Ignores<events::FoundMessage, events::Completion, events::RequestUse,
                          events::CommChange, events::RmaSync, events::Error, events::LocalBytes,
                          events::Value, events::Left>()});
}

void Profile::add_region(const Call& call) {
  const std::uint64_t time = call.leave_ns > call.enter_ns ? call.leave_ns - call.enter_ns : 0;
  regions_.add({.region = call.region,
                .count = is_continued(call) ? 0U : 1U,
                .time = time,
                .max_time = time});
}

void Profile::add(const Point& point) {
  if (point.kind == PointKind::kRangeStart) add_range_start(static_cast<RegionId>(point.id));
  if (point.kind == PointKind::kRangeStop)
    add_range_stop(static_cast<RegionId>(point.id),
                   point.time_ns - std::min(point.start_ns, point.time_ns));
}

void Profile::add(const Call& call) {
  if (is_foreign(call.region)) return add_region(call);
  CallShape shape;
  for (const Fact& fact : call.facts) note(fact, call.region, shape);
  const CommId comm = call.comm != kNoComm ? call.comm : shape.comm;
  const std::uint64_t returned = call.is_pending ? 0 : call.count;
  CallTotals& totals = row(
      pack({call.region, comm, size_class(shape.bytes_sent + shape.bytes_received), shape.peer}),
      returned);
  totals.calls += returned;
  totals.bytes_sent += shape.bytes_sent;
  totals.bytes_received += shape.bytes_received;
  std::uint64_t time = 0;
  if (call.depth == 0 && call.leave_ns > call.enter_ns) {
    time = time_inside(call);
    totals.time += time;
    totals.max_time = std::max(totals.max_time, time / call.count);
    if (shape.file != nullptr && shape.is_of_one_file && shape.peer == PeerClass::kNone)
      shape.file->totals.time += time;
  }
  if (shape.site != 0)
    sites_.add({.site = shape.site - 1, .region = call.region, .calls = returned, .time = time});
  first_enter_ = std::min(first_enter_, call.enter_ns);
  last_leave_ = std::max(last_leave_, call.leave_ns);
}

void Profile::merge(const Profile& other) {
  for (std::size_t i = 0; i < other.keys_.size(); ++i) {
    row(other.keys_.key(i), other.totals_[i].calls).add(other.totals_[i]);
  }
  files_.merge(other.files_);
  sites_.merge(other.sites_);
  regions_.merge(other.regions_);
  collectives_.merge(other.collectives_);
  for (const PeerTotals& from : other.peers()) peer(from.world_rank).add(from);
  for (std::size_t i = 0; i < kSizeClassCount; ++i) {
    sizes_[i].messages += other.sizes_[i].messages;
    sizes_[i].bytes += other.sizes_[i].bytes;
  }
  first_enter_ = std::min(first_enter_, other.first_enter_);
  last_leave_ = std::max(last_leave_, other.last_leave_);
}

CallTotals Profile::totals() const {
  CallTotals sum;
  for (const CallTotals& totals : totals_) sum.add(totals);
  return sum;
}

std::vector<ProfileRow> Profile::rows() const {
  std::vector<ProfileRow> rows;
  rows.reserve(totals_.size());
  for (std::size_t i = 0; i < totals_.size(); ++i)
    rows.push_back({unpack(keys_.key(i)), totals_[i]});
  std::sort(rows.begin(), rows.end(),
            [](const ProfileRow& a, const ProfileRow& b) { return pack(a.key) < pack(b.key); });
  return rows;
}

std::vector<PeerTotals> Profile::peers() const {
  std::vector<PeerTotals> peers = peers_;
  if (unlisted_peers_.messages != 0) peers.push_back(unlisted_peers_);
  std::sort(peers.begin(), peers.end(),
            [](const PeerTotals& a, const PeerTotals& b) { return a.world_rank < b.world_rank; });
  return peers;
}

}  // namespace megascope
