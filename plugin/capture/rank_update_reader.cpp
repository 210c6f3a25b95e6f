#include "plugin/capture/rank_update.h"
#include "plugin/capture/rank_update_format.h"

#include <algorithm>
#include <cstring>

namespace megascope::capture {
namespace {

/// Reads values from untrusted bytes. After the first error all further reads leave their argument
/// unchanged, and is_whole() is false.
class Source {
 public:
  explicit Source(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class Value>
  void get(Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    if (!is_sound_ || bytes_.size() < sizeof value) return fail();
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
  }
  template <class Values>
  void get_all(Values& values, std::size_t most) {
    using Value = typename Values::value_type;
    std::uint64_t count = 0;
    get(count);
    if (!is_sound_ || count > most || count > bytes_.size() / sizeof(Value)) return fail();
    const std::size_t padded = (count * sizeof(Value) + kRankUpdateAlign - 1) / kRankUpdateAlign *
                               kRankUpdateAlign;
    if (padded > bytes_.size()) return fail();
    values.resize(count);
    if (count != 0) std::memcpy(values.data(), bytes_.data(), count * sizeof(Value));
    bytes_ = bytes_.subspan(padded);
  }
  void fail() { is_sound_ = false; }
  bool is_whole() const { return is_sound_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool is_sound_ = true;
};

/// Computes the product of the extents. False: it exceeds `most`.
bool has_cells(const std::vector<std::uint64_t>& shape, std::uint64_t most, std::uint64_t& cells) {
  cells = 1;
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && cells > most / extent) return false;
    cells *= extent;
  }
  return true;
}

bool has_sound_stretches(const ViewPart& part) {
  if (part.split_dimension < 0) return part.stretches.empty() && part.shape == part.whole_shape;
  const auto split = static_cast<std::size_t>(part.split_dimension);
  if (split >= part.shape.size()) return false;
  for (std::size_t d = 0; d < part.shape.size(); ++d) {
    if (d != split && part.shape[d] != part.whole_shape[d]) return false;
  }
  const auto fits = [](std::uint64_t start, std::uint64_t count, std::uint64_t extent) {
    return count <= extent && start <= extent - count;
  };
  return std::ranges::all_of(part.stretches, [&](const PartStretch& stretch) {
    return fits(stretch.start, stretch.count, part.shape[split]) &&
           fits(stretch.whole_start, stretch.count, part.whole_shape[split]);
  });
}

bool is_sound(const ViewPart& part) {
  constexpr std::uint64_t kMaxCells = std::uint64_t{1} << 26;
  std::uint64_t cells = 0;
  std::uint64_t whole = 0;
  return part.shape.size() == part.whole_shape.size() && (part.columns == 1 || part.columns == 3) &&
         part.parts != 0 && part.step >= 0 && has_cells(part.shape, kMaxCells, cells) &&
         has_cells(part.whole_shape, kMaxCells, whole) &&
         cells * part.columns == part.elements.size() &&
         (part.tile_width == 0 || !part.shape.empty()) && has_sound_stretches(part);
}

bool read(Source source, TensorName& name) {
  std::uint16_t kind = 0;
  std::uint16_t type = 0;
  source.get(name.key);
  source.get(name.layer);
  source.get(kind);
  source.get(type);
  source.get_all(name.name, kMaxText);
  source.get_all(name.shape, kMaxPartDimensions);
  if (kind >= static_cast<std::uint16_t>(TensorKind::kCount) ||
      type >= static_cast<std::uint16_t>(ElementType::kCount))
    return false;
  name.kind = static_cast<TensorKind>(kind);
  name.type = static_cast<ElementType>(type);
  return source.is_whole();
}

bool read(Source source, CounterName& name) {
  std::uint64_t id = 0;
  source.get(id);
  source.get_all(name.name, kMaxText);
  source.get_all(name.unit, kMaxText);
  name.id = static_cast<std::uint32_t>(id);
  return source.is_whole();
}

bool read(Source source, CounterReadings& values) {
  source.get(values.step);
  source.get_all(values.ids, kMaxRankUpdateBytes);
  source.get_all(values.values, kMaxRankUpdateBytes);
  return source.is_whole() && values.ids.size() == values.values.size();
}

bool read(Source source, ViewPart& part) {
  PartFields facts{};
  source.get(facts);
  source.get_all(part.full_shape, kMaxPartDimensions);
  source.get_all(part.whole_shape, kMaxPartDimensions);
  source.get_all(part.shape, kMaxPartDimensions);
  source.get_all(part.stretches, kMaxPartStretches);
  source.get_all(part.elements, kMaxRankUpdateBytes);
  if (!source.is_whole()) return false;
  part.key = facts.key;
  part.step = facts.step;
  part.realtime_ns = facts.realtime_ns;
  part.tile_width = facts.tile_width;
  part.tile_extent = facts.tile_extent;
  part.capture_request = facts.capture_request;
  part.micro_batch = facts.micro_batch;
  part.replica = facts.replica;
  part.copy = facts.copy;
  part.parts = facts.parts;
  part.columns = facts.columns;
  part.split_dimension = facts.split_dimension;
  return is_sound(part);
}

bool read(Source source, Notice& notice) {
  std::uint64_t capture_request = 0;
  source.get(capture_request);
  source.get_all(notice.text, kMaxText);
  notice.capture_request = static_cast<std::uint32_t>(capture_request);
  return source.is_whole();
}

bool read(Source source, Interval& interval) {
  source.get(interval);
  return source.is_whole();
}

bool read(Source source, CallSums& sums) {
  source.get(sums.index);
  source.get(sums.elapsed_ms);
  source.get_all(sums.names, kMaxText);
  source.get_all(sums.functions, kMaxCallSums);
  source.get_all(sums.peers, kMaxPeerSums);
  return source.is_whole() &&
         static_cast<std::size_t>(std::ranges::count(sums.names, '\n')) == sums.functions.size();
}

bool read(Source source, RankFacts& facts) {
  source.get(facts.pid);
  source.get_all(facts.host, kMaxText);
  source.get_all(facts.place, kMaxText);
  return source.is_whole();
}

bool read(Source source, RequestFailed& failed) {
  source.get_all(failed.text, kMaxText);
  return source.is_whole();
}

bool read(Source source, LeftOut& left_out) {
  source.get(left_out.parts);
  return source.is_whole();
}

bool read(Source source, Reply& reply) {
  source.get_all(reply.text, kMaxReplyBytes);
  return source.is_whole();
}

}  // namespace

RankUpdateReader::Item RankUpdateReader::next() {
  RankUpdateHead head;
  if (bytes_.empty()) return Item::kEnd;
  const bool has_head = bytes_.size() >= sizeof head;
  if (has_head) std::memcpy(&head, bytes_.data(), sizeof head);
  if (!has_head || head.bytes > bytes_.size() - sizeof head) {
    bytes_ = {};
    return Item::kDamaged;
  }
  const Source content(bytes_.subspan(sizeof head, head.bytes));
  bytes_ = bytes_.subspan(sizeof head + head.bytes);
  const auto item = static_cast<Item>(head.item);
  bool is_read = false;
  switch (item) {
    case Item::kTensorName:
      is_read = read(content, tensor_name);
      break;
    case Item::kCounterName:
      is_read = read(content, counter_name);
      break;
    case Item::kCounterReadings:
    case Item::kPastReadings:
      is_read = read(content, counter_readings);
      break;
    case Item::kViewPart:
      is_read = read(content, view_part);
      break;
    case Item::kNotice:
      is_read = read(content, notice);
      break;
    case Item::kInterval:
      is_read = read(content, interval);
      break;
    case Item::kCallSums:
      is_read = read(content, call_sums);
      break;
    case Item::kReply:
      is_read = read(content, reply);
      break;
    case Item::kRankFacts:
      is_read = read(content, rank_facts);
      break;
    case Item::kRequestFailed:
      is_read = read(content, request_failed);
      break;
    case Item::kLeftOut:
      is_read = read(content, left_out);
      break;
    case Item::kPolls:
      is_read = content.is_whole();
      break;
    default:
      break;
  }
  if (is_read) return item;
  bytes_ = {};
  return Item::kDamaged;
}

RankUpdateContents contents_of(std::span<const std::byte> rank_update) noexcept {
  using Item = RankUpdateReader::Item;
  RankUpdateContents contents;
  RankUpdateHead head;
  while (rank_update.size() >= sizeof head) {
    std::memcpy(&head, rank_update.data(), sizeof head);
    const auto item = static_cast<Item>(head.item);
    contents.has_names |= item == Item::kTensorName || item == Item::kCounterName ||
                          item == Item::kRankFacts || item == Item::kPolls;
    contents.has_answers |= item == Item::kReply || item == Item::kRequestFailed;
    std::int64_t step = 0;
    const bool has_counters = (item == Item::kCounterReadings || item == Item::kPastReadings) &&
                              rank_update.size() >= sizeof head + sizeof step;
    if (has_counters) std::memcpy(&step, rank_update.data() + sizeof head, sizeof step);
    if (has_counters) contents.counters_from = std::min(contents.counters_from, step);
    rank_update = rank_update.subspan(std::min(rank_update.size(), sizeof head + head.bytes));
  }
  return contents;
}

}  // namespace megascope::capture
