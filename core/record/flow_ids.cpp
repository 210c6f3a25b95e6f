#include "core/record/flow_ids.h"

#include "core/base/hash.h"
#include "core/record/message_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

namespace megascope {
namespace {

/// Writes numbers into a word, from the lowest bit on.
class Bits {
 public:
  void put(std::uint64_t value, std::uint32_t bits) {
    word_ |= value << count_;
    count_ += bits;
  }
  std::uint64_t word() const { return word_; }
  std::uint32_t count() const { return count_; }

 private:
  std::uint64_t word_ = 0;
  std::uint32_t count_ = 0;
};

/// Sizes of tags; two bits select one of them.
constexpr std::array<std::uint32_t, 4> kTagBits{3, 7, 11, 20};
/// With this size all parts of a series fit into a word.
constexpr std::uint32_t kMaxRankBits = 14;
/// A series is a word with its number of bits from this bit on.
constexpr std::uint32_t kCountShift = 56;
/// The lowest bit separates messages from collectives.
constexpr std::uint64_t kMessage = 1;
constexpr std::uint64_t kCollective = 0;

std::uint32_t bits_of_ranks(std::int32_t world_size) {
  return static_cast<std::uint32_t>(
      std::bit_width(static_cast<std::uint32_t>(std::max(world_size, 1) - 1)));
}

}  // namespace

FlowIds::FlowIds(const ProcessDefinitions& process)
    : process_(process),
      series_(process),
      my_rank_(process.info.world_rank),
      rank_bits_(bits_of_ranks(process.info.world_size)),
      comms_(process.comms.size()) {
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    const CommDefinition& definition = process.comms[i];
    Bits code;
    switch (definition.kind) {
      case CommKind::kWorld:
        code.put(0, 1);
        break;
      case CommKind::kSelf:
      case CommKind::kIntra:
        code.put(1, 1);
        code.put(mix(definition.global_name) >> (64 - kCommBits), kCommBits);
        break;
      case CommKind::kInter:
      case CommKind::kRemote:
        continue;
    }
    comms_[i].code = code.word();
    comms_[i].bits = code.count();
    comms_[i].is_whole = rank_count(definition.members) == process.info.world_size;
  }
  find_alike();
}

void FlowIds::find_alike() {
  std::map<std::uint64_t, std::vector<CommId>> by_code;
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    if (comms_[i].bits != 0) by_code[comms_[i].code].push_back(static_cast<CommId>(i));
  }
  for (const auto& [code, ids] : by_code) {
    if (ids.size() == 1) continue;
    const bool is_distinct = std::ranges::count_if(
                                 ids, [this](CommId id) { return comms_[id].is_whole; }) == 1;
    for (const CommId id : ids) {
      comms_[id].is_whole = comms_[id].is_whole && is_distinct;
      for (const CommId other : ids) {
        if (other != id) comms_[id].alike.push_back(other);
      }
    }
  }
}

bool FlowIds::is_member(CommId comm, std::int32_t world_rank) const {
  return std::ranges::any_of(process_.comms[comm].members, [&](const RankRun& run) {
    const std::int64_t distance = std::int64_t{world_rank} - run.first;
    if (run.stride == 0 || run.count <= 1) return run.count > 0 && distance == 0;
    return distance % run.stride == 0 && distance / run.stride >= 0 &&
           distance / run.stride < run.count;
  });
}

std::uint64_t FlowIds::short_series(const MessageSeries::Envelope& message, std::int32_t partner,
                                    std::int32_t sender, std::int32_t receiver) const {
  const std::int32_t world_size = process_.info.world_size;
  if (partner < 0 || partner >= world_size || my_rank_ >= world_size || rank_bits_ > kMaxRankBits)
    return 0;
  const Comm& comm = comms_[message.comm];
  const auto* const size = std::ranges::find_if(
      kTagBits, [&](std::uint32_t bits) { return message.tag >> bits == 0; });
  if (comm.bits == 0 || message.tag < 0 || size == kTagBits.end()) return 0;
  if (std::ranges::any_of(comm.alike, [&](CommId other) { return is_member(other, partner); }))
    return 0;
  Bits series;
  series.put(kMessage, 1);
  series.put(comm.code, comm.bits);
  series.put(static_cast<std::uint64_t>(sender), rank_bits_);
  series.put(static_cast<std::uint64_t>(receiver), rank_bits_);
  series.put(static_cast<std::uint64_t>(size - kTagBits.begin()), 2);
  series.put(static_cast<std::uint64_t>(message.tag), *size);
  if (series.count() >= kShortBits) return 0;
  return std::uint64_t{series.count()} << kCountShift | series.word();
}

std::uint64_t FlowIds::of_message(std::uint64_t series, std::uint64_t number) {
  if ((series & kHashed) == 0) {
    const auto bits = static_cast<std::uint32_t>(series >> kCountShift);
    const std::uint64_t word = series & ((std::uint64_t{1} << kCountShift) - 1);
    if (bits < kShortBits && number >> (kShortBits - bits) == 0) return number << bits | word;
  }
  return hashed(MessageSeries::name(series, number));
}

std::uint64_t FlowIds::of_collective(CommId comm, std::uint32_t sequence) const {
  const Comm& known = comms_[comm];
  if (known.bits == 0 || !known.is_whole)
    return hashed(collective_flow_id(process_.comms[comm].global_name, sequence));
  Bits id;
  id.put(kCollective, 1);
  id.put(1, 1);  // so that no identifier is 0
  id.put(known.code, known.bits);
  id.put(sequence, 32);
  return id.word();
}

}  // namespace megascope
