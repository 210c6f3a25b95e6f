#include "core/base/wire.h"
#include "core/profile/profile.h"

// The wire form of a Profile.
namespace megascope {
namespace {

constexpr std::uint64_t kFormat = 5;

bool is_valid(const ProfileKey& key) {
  return (key.sizes < kSizeClassCount || key.sizes == kMixedSizes) && key.peer <= PeerClass::kAny;
}

}  // namespace

void Profile::serialize(std::vector<std::byte>& to) const {
  WireWriter out(to);
  out.number(kFormat);
  out.number(first_enter_);
  out.number(last_leave_);
  out.number(totals_.size());
  for (const ProfileRow& row : rows()) {
    out.number(pack(row.key));
    out.number(row.totals.calls);
    out.number(row.totals.time);
    out.number(row.totals.max_time);
    out.number(row.totals.bytes_sent);
    out.number(row.totals.bytes_received);
  }
  files_.serialize(out);
  sites_.serialize(out);
  regions_.serialize(out);
  collectives_.serialize(out);
  const std::vector<PeerTotals> all_peers = peers();
  out.number(all_peers.size());
  for (const PeerTotals& peer : all_peers) {
    out.signed_number(peer.world_rank);
    out.number(peer.messages);
    out.number(peer.bytes);
  }
  for (const SizeTotals& sizes : sizes_) {
    out.number(sizes.messages);
    out.number(sizes.bytes);
  }
}

Status Profile::parse(std::span<const std::byte> from) {
  Profile read;
  WireReader in(from);
  if (in.number() != kFormat) return Status::error("profile: not a profile of this version");
  read.first_enter_ = in.number();
  read.last_leave_ = in.number();
  for (std::size_t left = in.count(kMaxProfileRows); left > 0; --left) {
    const ProfileKey key = unpack(in.number());
    CallTotals totals;
    totals.calls = in.number();
    totals.time = in.number();
    totals.max_time = in.number();
    totals.bytes_sent = in.number();
    totals.bytes_received = in.number();
    if (!in.is_ok() || !is_valid(key) || read.keys_.find(pack(key)) != KeyIndex::kAbsent) in.fail();
    if (!in.is_ok()) break;
    if (key.sizes == kMixedSizes) read.mixed_call_count_ += totals.calls;
    read.append_row(pack(key)) = totals;
  }
  read.files_.parse(in);
  read.sites_.parse(in);
  read.regions_.parse(in);
  read.collectives_.parse(in);
  for (std::size_t left = in.count(kMaxProfilePeers + 1); left > 0; --left) {
    PeerTotals totals{.world_rank = static_cast<std::int32_t>(in.signed_number())};
    totals.messages = in.number();
    totals.bytes = in.number();
    if (in.is_ok()) read.peer(totals.world_rank).add(totals);
  }
  for (SizeTotals& sizes : read.sizes_) {
    sizes.messages = in.number();
    sizes.bytes = in.number();
  }
  if (!in.is_at_end()) return Status::error("profile: damaged");
  read.world_rank_ = world_rank_;
  read.is_foreign_ = std::move(is_foreign_);
  read.comms_ = std::move(comms_);
  read.files_.adopt_definitions(files_);
  *this = std::move(read);
  return Status::ok();
}

}  // namespace megascope
