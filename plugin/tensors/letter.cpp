#include "plugin/tensors/letter.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace megascope::tensors {
namespace {

struct Head {
  std::uint32_t item = 0;   ///< LetterReader::Item
  std::uint32_t bytes = 0;  ///< behind the head, a multiple of kAlign
};
constexpr std::size_t kAlign = 8;
constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostDimensions = kMaxTensorDimensions + 1;
constexpr std::size_t kMostStretches = 4096;

template <class Value>
void put(std::vector<std::byte>& to, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const std::size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}
/// How many, then each.
template <class Values>
void put_all(std::vector<std::byte>& to, const Values& values) {
  using Value = typename Values::value_type;
  static_assert(std::is_trivially_copyable_v<Value>);
  put(to, static_cast<std::uint64_t>(values.size()));
  const auto* const first = reinterpret_cast<const std::byte*>(values.data());
  const std::size_t bytes = values.size() * sizeof(Value);
  to.insert(to.end(), first, first + bytes);
  to.resize(to.size() + (kAlign - bytes % kAlign) % kAlign);
}

/// Takes values from bytes that may be anything; once something is amiss it gives nothing more.
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
    const std::size_t padded = (count * sizeof(Value) + kAlign - 1) / kAlign * kAlign;
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

/// What of a part is of fixed size.
struct PartFacts {
  std::uint64_t key;
  std::int64_t step;
  std::int64_t realtime_ns;
  std::uint64_t tile_width;
  std::uint64_t tile_extent;
  std::uint32_t wish;
  std::int32_t micro_batch;
  std::uint32_t replica;
  std::uint32_t parts;
  std::uint32_t columns;
  std::int32_t split_dimension;
  std::uint32_t copy;
  std::uint32_t reserved;
};

/// The product; false: it is greater than `most`.
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
  constexpr std::uint64_t kMostCells = std::uint64_t{1} << 26;
  std::uint64_t cells = 0;
  std::uint64_t whole = 0;
  return part.shape.size() == part.whole_shape.size() && (part.columns == 1 || part.columns == 3) &&
         part.parts != 0 && part.step >= 0 && has_cells(part.shape, kMostCells, cells) &&
         has_cells(part.whole_shape, kMostCells, whole) &&
         cells * part.columns == part.elements.size() &&
         (part.tile_width == 0 || !part.shape.empty()) && has_sound_stretches(part);
}

}  // namespace

/// Straight into the letter, as parts of views are large. Should memory run out, nothing of it is
/// there.
template <class Item, class Fill>
bool LetterWriter::add_item(Item item, Fill fill) {
  const std::size_t at = bytes_.size();
  try {
    put(bytes_, Head{});
    fill(bytes_);
  } catch (const std::bad_alloc&) {
    bytes_.resize(at);
    throw;
  }
  const Head head{static_cast<std::uint32_t>(item),
                  static_cast<std::uint32_t>(bytes_.size() - at - sizeof(Head))};
  std::memcpy(bytes_.data() + at, &head, sizeof head);
  const bool fits = bytes_.size() <= room_;
  if (!fits) bytes_.resize(at);
  return fits;
}

bool LetterWriter::add(const TensorName& name) {
  return add_item(LetterReader::Item::kTensorName, [&](std::vector<std::byte>& to) {
    put(to, name.key);
    put(to, name.layer);
    put(to, static_cast<std::uint16_t>(name.kind));
    put(to, static_cast<std::uint16_t>(name.type));
    put_all(to, name.name.substr(0, kMostText));
    put_all(to, name.shape);
  });
}

bool LetterWriter::add(const CounterName& name) {
  return add_item(LetterReader::Item::kCounterName, [&](std::vector<std::byte>& to) {
    put(to, std::uint64_t{name.id});
    put_all(to, name.name.substr(0, kMostText));
    put_all(to, name.unit.substr(0, kMostText));
  });
}

bool LetterWriter::add(const CounterReadings& values) { return add_readings(false, values); }

bool LetterWriter::add(const PastReadings& past) { return add_readings(true, past.readings); }

bool LetterWriter::add_readings(bool is_past, const CounterReadings& values) {
  return add_item(
      is_past ? LetterReader::Item::kPastReadings : LetterReader::Item::kCounterReadings,
      [&](std::vector<std::byte>& to) {
        put(to, values.step);
        put_all(to, values.ids);
        put_all(to, values.values);
      });
}

bool LetterWriter::add(const ViewPart& part) {
  if (letter_bytes(part) > room_ - bytes_.size()) return false;  // before it is copied
  return add_item(LetterReader::Item::kViewPart, [&](std::vector<std::byte>& to) {
    put(to, PartFacts{part.key, part.step, part.realtime_ns, part.tile_width, part.tile_extent,
                      part.wish, part.micro_batch, part.replica, part.parts, part.columns,
                      part.split_dimension, part.copy, 0});
    put_all(to, part.full_shape);
    put_all(to, part.whole_shape);
    put_all(to, part.shape);
    put_all(to, part.stretches);
    put_all(to, part.elements);
  });
}

bool LetterWriter::add(const Notice& notice) {
  return add_item(LetterReader::Item::kNotice, [&](std::vector<std::byte>& to) {
    put(to, std::uint64_t{notice.wish});
    put_all(to, notice.text.substr(0, kMostText));
  });
}

bool LetterWriter::add(const Interval& interval) {
  return add_item(LetterReader::Item::kInterval,
                  [&](std::vector<std::byte>& to) { put(to, interval); });
}

bool LetterWriter::add(const CallSums& sums) {
  return add_item(LetterReader::Item::kCallSums, [&](std::vector<std::byte>& to) {
    put(to, sums.index);
    put(to, sums.elapsed_ms);
    put_all(to, sums.names.substr(0, kMostText));
    put_all(to, sums.functions);
    put_all(to, sums.peers);
  });
}

bool LetterWriter::add(const Reply& reply) {
  if (reply.text.size() > kMostReplyBytes) return false;  // half of it would be no JSON
  return add_item(LetterReader::Item::kReply,
                  [&](std::vector<std::byte>& to) { put_all(to, reply.text); });
}

bool LetterWriter::add(const Polls&) {
  return add_item(LetterReader::Item::kPolls, [](std::vector<std::byte>&) {});
}

bool LetterWriter::add(const RankFacts& facts) {
  return add_item(LetterReader::Item::kRankFacts, [&](std::vector<std::byte>& to) {
    put(to, facts.pid);
    put_all(to, facts.host.substr(0, kMostText));
    put_all(to, facts.place.substr(0, kMostText));
  });
}

bool LetterWriter::add(const RequestFailed& failed) {
  return add_item(LetterReader::Item::kRequestFailed, [&](std::vector<std::byte>& to) {
    put_all(to, failed.text.substr(0, kMostText));
  });
}

bool LetterWriter::add(const LeftOut& left_out) {
  return add_item(LetterReader::Item::kLeftOut,
                  [&](std::vector<std::byte>& to) { put(to, left_out.parts); });
}

bool LetterWriter::add(const LetterWriter& other) {
  if (other.bytes_.size() > room_ - bytes_.size()) return false;
  bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
  return true;
}

std::size_t letter_bytes(const ViewPart& part) {
  constexpr std::size_t kRound = 5 * (sizeof(std::uint64_t) +
                                      kAlign);  // of five lists: how many, and what fills up
  const std::size_t extents = part.full_shape.size() + part.whole_shape.size() + part.shape.size();
  return sizeof(Head) + sizeof(PartFacts) + kRound + extents * sizeof(std::uint64_t) +
         part.stretches.size() * sizeof(PartStretch) + part.elements.size() * sizeof(float);
}

std::vector<std::byte> LetterWriter::take() { return std::exchange(bytes_, {}); }

namespace {

bool read(Source source, TensorName& name) {
  std::uint16_t kind = 0;
  std::uint16_t type = 0;
  source.get(name.key);
  source.get(name.layer);
  source.get(kind);
  source.get(type);
  source.get_all(name.name, kMostText);
  source.get_all(name.shape, kMostDimensions);
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
  source.get_all(name.name, kMostText);
  source.get_all(name.unit, kMostText);
  name.id = static_cast<std::uint32_t>(id);
  return source.is_whole();
}

bool read(Source source, CounterReadings& values) {
  source.get(values.step);
  source.get_all(values.ids, kMostLetterBytes);
  source.get_all(values.values, kMostLetterBytes);
  return source.is_whole() && values.ids.size() == values.values.size();
}

bool read(Source source, ViewPart& part) {
  PartFacts facts{};
  source.get(facts);
  source.get_all(part.full_shape, kMostDimensions);
  source.get_all(part.whole_shape, kMostDimensions);
  source.get_all(part.shape, kMostDimensions);
  source.get_all(part.stretches, kMostStretches);
  source.get_all(part.elements, kMostLetterBytes);
  if (!source.is_whole()) return false;
  part.key = facts.key;
  part.step = facts.step;
  part.realtime_ns = facts.realtime_ns;
  part.tile_width = facts.tile_width;
  part.tile_extent = facts.tile_extent;
  part.wish = facts.wish;
  part.micro_batch = facts.micro_batch;
  part.replica = facts.replica;
  part.copy = facts.copy;
  part.parts = facts.parts;
  part.columns = facts.columns;
  part.split_dimension = facts.split_dimension;
  return is_sound(part);
}

bool read(Source source, Notice& notice) {
  std::uint64_t wish = 0;
  source.get(wish);
  source.get_all(notice.text, kMostText);
  notice.wish = static_cast<std::uint32_t>(wish);
  return source.is_whole();
}

bool read(Source source, Interval& interval) {
  source.get(interval);
  return source.is_whole();
}

bool read(Source source, CallSums& sums) {
  source.get(sums.index);
  source.get(sums.elapsed_ms);
  source.get_all(sums.names, kMostText);
  source.get_all(sums.functions, kMaxCallSums);
  source.get_all(sums.peers, kMaxPeerSums);
  return source.is_whole() &&
         static_cast<std::size_t>(std::ranges::count(sums.names, '\n')) == sums.functions.size();
}

bool read(Source source, RankFacts& facts) {
  source.get(facts.pid);
  source.get_all(facts.host, kMostText);
  source.get_all(facts.place, kMostText);
  return source.is_whole();
}

bool read(Source source, RequestFailed& failed) {
  source.get_all(failed.text, kMostText);
  return source.is_whole();
}

bool read(Source source, LeftOut& left_out) {
  source.get(left_out.parts);
  return source.is_whole();
}

bool read(Source source, Reply& reply) {
  source.get_all(reply.text, kMostReplyBytes);
  return source.is_whole();
}

}  // namespace

LetterReader::Item LetterReader::next() {
  Head head;
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

LetterContents contents_of(std::span<const std::byte> letter) noexcept {
  using Item = LetterReader::Item;
  LetterContents contents;
  Head head;
  while (letter.size() >= sizeof head) {
    std::memcpy(&head, letter.data(), sizeof head);
    const auto item = static_cast<Item>(head.item);
    contents.has_names |= item == Item::kTensorName || item == Item::kCounterName ||
                          item == Item::kRankFacts || item == Item::kPolls;
    contents.has_answers |= item == Item::kReply || item == Item::kRequestFailed;
    std::int64_t step = 0;
    const bool has_counters = (item == Item::kCounterReadings || item == Item::kPastReadings) &&
                              letter.size() >= sizeof head + sizeof step;
    if (has_counters) std::memcpy(&step, letter.data() + sizeof head, sizeof step);
    if (has_counters) contents.counters_from = std::min(contents.counters_from, step);
    letter = letter.subspan(std::min(letter.size(), sizeof head + head.bytes));
  }
  return contents;
}

}  // namespace megascope::tensors
