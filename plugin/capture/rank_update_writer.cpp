#include "plugin/capture/rank_update.h"
#include "plugin/capture/rank_update_format.h"

#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace megascope::capture {
namespace {

template <class Value>
void put(std::vector<std::byte>& to, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const std::size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}
/// Appends the number of values, the values, and padding.
template <class Values>
void put_all(std::vector<std::byte>& to, const Values& values) {
  using Value = typename Values::value_type;
  static_assert(std::is_trivially_copyable_v<Value>);
  put(to, static_cast<std::uint64_t>(values.size()));
  const auto* const first = reinterpret_cast<const std::byte*>(values.data());
  const std::size_t bytes = values.size() * sizeof(Value);
  to.insert(to.end(), first, first + bytes);
  to.resize(to.size() + (kRankUpdateAlign - bytes % kRankUpdateAlign) % kRankUpdateAlign);
}

}  // namespace

/// Appends one item in place, because view parts are large. On std::bad_alloc nothing is appended.
template <class Item, class Fill>
bool RankUpdateWriter::add_item(Item item, Fill fill) {
  const std::size_t at = bytes_.size();
  try {
    put(bytes_, RankUpdateHead{});
    fill(bytes_);
  } catch (const std::bad_alloc&) {
    bytes_.resize(at);
    throw;
  }
  const RankUpdateHead head{
      static_cast<std::uint32_t>(item),
      static_cast<std::uint32_t>(bytes_.size() - at - sizeof(RankUpdateHead))};
  std::memcpy(bytes_.data() + at, &head, sizeof head);
  const bool fits = bytes_.size() <= space_;
  if (!fits) bytes_.resize(at);
  return fits;
}

bool RankUpdateWriter::add(const TensorName& name) {
  return add_item(RankUpdateReader::Item::kTensorName, [&](std::vector<std::byte>& to) {
    put(to, name.key);
    put(to, name.layer);
    put(to, static_cast<std::uint16_t>(name.kind));
    put(to, static_cast<std::uint16_t>(name.type));
    put_all(to, name.name.substr(0, kMaxText));
    put_all(to, name.shape);
  });
}

bool RankUpdateWriter::add(const CounterName& name) {
  return add_item(RankUpdateReader::Item::kCounterName, [&](std::vector<std::byte>& to) {
    put(to, std::uint64_t{name.id});
    put_all(to, name.name.substr(0, kMaxText));
    put_all(to, name.unit.substr(0, kMaxText));
  });
}

bool RankUpdateWriter::add(const CounterReadings& values) { return add_readings(false, values); }

bool RankUpdateWriter::add(const PastReadings& past) { return add_readings(true, past.readings); }

bool RankUpdateWriter::add_readings(bool is_past, const CounterReadings& values) {
  return add_item(
      is_past ? RankUpdateReader::Item::kPastReadings : RankUpdateReader::Item::kCounterReadings,
      [&](std::vector<std::byte>& to) {
        put(to, values.step);
        put_all(to, values.ids);
        put_all(to, values.values);
      });
}

bool RankUpdateWriter::add(const ViewPart& part) {
  if (rank_update_bytes(part) > space_ - bytes_.size()) return false;  // checked before copying
  return add_item(RankUpdateReader::Item::kViewPart, [&](std::vector<std::byte>& to) {
    put(to, PartFields{part.key, part.step, part.realtime_ns, part.tile_width, part.tile_extent,
                       part.capture_request, part.micro_batch, part.replica, part.parts,
                       part.columns, part.split_dimension, part.copy, 0});
    put_all(to, part.full_shape);
    put_all(to, part.whole_shape);
    put_all(to, part.shape);
    put_all(to, part.stretches);
    put_all(to, part.elements);
  });
}

bool RankUpdateWriter::add(const Notice& notice) {
  return add_item(RankUpdateReader::Item::kNotice, [&](std::vector<std::byte>& to) {
    put(to, std::uint64_t{notice.capture_request});
    put_all(to, notice.text.substr(0, kMaxText));
  });
}

bool RankUpdateWriter::add(const Interval& interval) {
  return add_item(RankUpdateReader::Item::kInterval,
                  [&](std::vector<std::byte>& to) { put(to, interval); });
}

bool RankUpdateWriter::add(const CallSums& sums) {
  return add_item(RankUpdateReader::Item::kCallSums, [&](std::vector<std::byte>& to) {
    put(to, sums.index);
    put(to, sums.elapsed_ms);
    put_all(to, sums.names.substr(0, kMaxText));
    put_all(to, sums.functions);
    put_all(to, sums.peers);
  });
}

bool RankUpdateWriter::add(const Reply& reply) {
  if (reply.text.size() > kMaxReplyBytes) return false;  // truncated JSON is useless
  return add_item(RankUpdateReader::Item::kReply,
                  [&](std::vector<std::byte>& to) { put_all(to, reply.text); });
}

bool RankUpdateWriter::add(const Polls&) {
  return add_item(RankUpdateReader::Item::kPolls, [](std::vector<std::byte>&) {});
}

bool RankUpdateWriter::add(const RankFacts& facts) {
  return add_item(RankUpdateReader::Item::kRankFacts, [&](std::vector<std::byte>& to) {
    put(to, facts.pid);
    put_all(to, facts.host.substr(0, kMaxText));
    put_all(to, facts.place.substr(0, kMaxText));
  });
}

bool RankUpdateWriter::add(const RequestFailed& failed) {
  return add_item(RankUpdateReader::Item::kRequestFailed, [&](std::vector<std::byte>& to) {
    put_all(to, failed.text.substr(0, kMaxText));
  });
}

bool RankUpdateWriter::add(const LeftOut& left_out) {
  return add_item(RankUpdateReader::Item::kLeftOut,
                  [&](std::vector<std::byte>& to) { put(to, left_out.parts); });
}

bool RankUpdateWriter::add(const RankUpdateWriter& other) {
  if (other.bytes_.size() > space_ - bytes_.size()) return false;
  bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
  return true;
}

std::size_t rank_update_bytes(const ViewPart& part) {
  constexpr std::size_t kRound = 5 * (sizeof(std::uint64_t) +
                                      kRankUpdateAlign);  // counts and padding of the five lists
  const std::size_t extents = part.full_shape.size() + part.whole_shape.size() + part.shape.size();
  return sizeof(RankUpdateHead) + sizeof(PartFields) + kRound + extents * sizeof(std::uint64_t) +
         part.stretches.size() * sizeof(PartStretch) + part.elements.size() * sizeof(float);
}

std::vector<std::byte> RankUpdateWriter::take() { return std::exchange(bytes_, {}); }

}  // namespace megascope::capture
