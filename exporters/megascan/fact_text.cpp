#include "exporters/megascan/fact_text.h"

#include "core/record/value_fact.h"
#include "exporters/common/utf8.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace megascope::megascan {
namespace {

using timeline::JsonText;

struct Pair {
  std::string_view operation, partner;
};
constexpr std::array<Pair, 4> kIrregular{{{"exchange-next", "exchange-prev"},
                                          {"exchange-prev", "exchange-next"},
                                          {"recv-extra", "send-warmup"},
                                          {"send-extra", "recv-cooldown"}}};

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

/// Writes `,"key":[1,2,3]`.
void write_list(JsonText& to, std::string_view key, const std::vector<std::int32_t>& values) {
  to << ",\"" << key << "\":[";
  for (std::size_t i = 0; i < values.size(); ++i)
    to << (i == 0 ? "" : ",") << std::int64_t{values[i]};
  to << "]";
}

template <class Numbers>
void write_facts(JsonText& to, std::string_view key, const std::vector<Fact>& facts,
                 Numbers&& numbers_of) {
  if (facts.empty()) return;
  to << ",\"" << key << "\":[";
  bool is_first = true;
  for (const Fact& fact : facts) {
    for (const std::int64_t value : numbers_of(fact)) {
      to << (std::exchange(is_first, false) ? "" : ",") << value;
    }
  }
  to << "]";
}

/// Facts that are covered by other facts of the same operation, or only describe the request.
bool is_bookkeeping(FactKind kind) {
  switch (kind) {
    case FactKind::kNone:
    case FactKind::kRecvRequest:
    case FactKind::kSendComplete:
    case FactKind::kRequestTest:
    case FactKind::kRequestFreed:
    case FactKind::kCollectiveRequest:
    case FactKind::kMatched:
    case FactKind::kPersistentInit:
    case FactKind::kRequestReady:
      return true;
    default:
      return false;
  }
}

std::string with_swapped(std::string_view name, std::string_view from, std::string_view to) {
  const std::size_t at = name.find(from);
  if (at == std::string_view::npos) return {};
  return std::string(name.substr(0, at)) + std::string(to) +
         std::string(name.substr(at + from.size()));
}

}  // namespace

std::string partner_of(std::string_view operation, bool is_both_ways) {
  const auto irregular = std::ranges::find(kIrregular, operation, &Pair::operation);
  if (irregular != kIrregular.end()) return std::string(irregular->partner);
  if (is_both_ways) return std::string(operation);
  for (const auto& [from, to] :
       {std::pair{"send", "recv"}, {"recv", "send"}, {"Send", "Recv"}, {"Recv", "Send"}}) {
    if (std::string partner = with_swapped(operation, from, to); !partner.empty()) return partner;
  }
  return {};
}

FactText::FactText(const ProcessDefinitions& process) : process_(process), world_ranks_(process) {}

void FactText::sort_facts(const Call& call, Tally& tally) {
  sends_.clear();
  receives_.clear();
  collectives_.clear();
  for (const Fact& fact : call.facts) {
    switch (fact.kind) {
      case FactKind::kSend:
      case FactKind::kSendRequest:
        sends_.push_back(fact);
        break;
      case FactKind::kRecv:
        receives_.push_back(fact);
        break;
      case FactKind::kRecvComplete:
        if (fact.peer >= 0) receives_.push_back(fact);
        break;
      case FactKind::kCollective:
      case FactKind::kCollectiveComplete:
        collectives_.push_back(fact);
        break;
      case FactKind::kValue:
        break;
      default:
        tally.other_facts += is_bookkeeping(fact.kind) ? 0 : 1;
    }
  }
}

void FactText::write(const Call& call, std::string_view name, JsonText& to, Tally& tally) {
  sort_facts(call, tally);
  write_values(call, to, tally);
  write_group(name, to, tally);
  write_data(call, to);
  write_lists(to);
}

void FactText::write_values(const Call& call, JsonText& to, Tally& tally) const {
  for (const Fact& fact : call.facts) {
    if (fact.kind != FactKind::kValue) continue;
    switch (value_name_of(fact)) {
      case ValueName::kStep:
        break;  // written with the iteration
      case ValueName::kMicroBatch:
        to << ",\"micro_batch_index\":" << value_of(fact);
        break;
      case ValueName::kModelChunk:
        to << ",\"model_chunk\":" << value_of(fact);
        break;
      case ValueName::kSequence:
        to << ",\"seq_id\":" << value_of(fact);
        break;
      default:
        ++tally.other_facts;
    }
  }
}

void FactText::add_others_of(CommId comm) {
  const CommDefinition* const definition = process_.comm(comm);
  if (definition == nullptr) return;
  for (const std::int32_t rank : expand(definition->members)) group_.push_back(rank);
}

/// Only written if MegaScan can find the partners by it; otherwise MegaScan would relate unrelated
/// operations.
void FactText::write_group(std::string_view name, JsonText& to, Tally& tally) {
  group_.clear();
  std::string partner(name);
  if (!collectives_.empty()) {
    const CommDefinition* const comm = process_.comm(collectives_.front().comm);
    if (comm == nullptr || comm->kind == CommKind::kInter || comm->kind == CommKind::kRemote)
      return;
    if (rank_count(comm->members) > kWidestGroup) {
      ++tally.wide_groups;
      return;
    }
    add_others_of(comm->id);
  } else {
    for (const Fact& fact : sends_) group_.push_back(world_ranks_.of(fact.comm, fact.peer));
    for (const Fact& fact : receives_) group_.push_back(world_ranks_.of(fact.comm, fact.peer));
    partner = partner_of(name, !sends_.empty() && !receives_.empty());
  }
  std::ranges::sort(group_);
  group_.erase(std::unique(group_.begin(), group_.end()), group_.end());
  std::erase_if(group_,
                [this](std::int32_t rank) { return rank < 0 || rank == process_.info.world_rank; });
  if (group_.empty() || partner.empty()) return;
  if (collectives_.empty() && group_.size() > 1) return;
  to << ",\"expect\":\"" << timeline::json_escaped(partner) << "\"";
  write_list(to, "group", group_);
}

void FactText::write_data(const Call& call, JsonText& to) const {
  std::uint64_t bytes = 0;
  for (const Fact& fact : sends_) bytes += fact.bytes;
  for (const Fact& fact : receives_) bytes += fact.bytes;
  if (sends_.empty() && receives_.empty()) return;
  to << ",\"data\":" << number(bytes);
  if (call.leave_ns <= call.enter_ns) return;
  constexpr double kBytesOfAGigabit = 1 << 27;
  to << ",\"bandwidth\":";
  to.real(static_cast<double>(bytes) * 1e9 / kBytesOfAGigabit /
          static_cast<double>(call.leave_ns - call.enter_ns));
}

void FactText::write_lists(JsonText& to) const {
  const auto message = [](const Fact& fact) {
    return std::array<std::int64_t, 4>{fact.comm, fact.peer, fact.tag, number(fact.bytes)};
  };
  const auto collective = [](const Fact& fact) {
    return std::array<std::int64_t, 5>{fact.comm, fact.sequence, fact.peer, number(fact.bytes),
                                       number(fact.bytes_received)};
  };
  write_facts(to, "sends", sends_, message);
  write_facts(to, "receives", receives_, message);
  write_facts(to, "collectives", collectives_, collective);
}

}  // namespace megascope::megascan
