#include "exporters/megascan/fact_text.h"

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

template <class View, class Numbers>
void write_events(JsonText& to, std::string_view key, const std::vector<View>& events,
                  Numbers&& numbers_of) {
  if (events.empty()) return;
  to << ",\"" << key << "\":[";
  bool is_first = true;
  for (const View& event : events) {
    for (const std::int64_t value : numbers_of(event)) {
      to << (std::exchange(is_first, false) ? "" : ",") << value;
    }
  }
  to << "]";
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
  const auto omit = [&tally](auto) { ++tally.other_facts; };
  // Ignored: events that other events of the same operation cover, or that only describe a request.
  const events::Handler handler{
      [this](events::Send send) { sends_.push_back(send); },
      [this](events::Receive receive) {
        if (receive.is_blocking() || receive.peer() >= 0) receives_.push_back(receive);
      },
      [this](events::Collective collective) {
        if (collective.is_blocking()) collectives_.push_back(collective);
      },
      [this](events::CollectiveCompletion collective) { collectives_.push_back(collective); },
      [&omit](events::Completion completion) {
        using Way = events::Completion::Way;
        if (completion.way() == Way::kCancelled || completion.way() == Way::kOneSided)
          omit(completion);
      },
      [&omit](events::RequestUse use) {
        if (use.use() == events::RequestUse::Use::kCancelRequested) omit(use);
      },
      [&omit](events::FoundMessage message) {
        if (!message.is_ready_request()) omit(message);
      },
      events::on<events::CommChange, events::RmaOperation, events::RmaSync, events::WindowUse,
                 events::FileTransfer, events::FileUse, events::FileCollective, events::Error,
                 events::LocalBytes, events::CallSite, events::Left>(omit),
      events::Ignores<events::PostedReceive, events::MatchedProbe, events::Value>()};
  for (const Fact& fact : call.facts) events::visit(fact, handler);
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
    const auto value = events::as<events::Value>(fact);
    if (!value) continue;
    switch (value->name()) {
      case ValueName::kStep:
        break;  // written with the iteration
      case ValueName::kMicroBatch:
        to << ",\"micro_batch_index\":" << value->number();
        break;
      case ValueName::kModelChunk:
        to << ",\"model_chunk\":" << value->number();
        break;
      case ValueName::kSequence:
        to << ",\"seq_id\":" << value->number();
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
    const CommDefinition* const comm = process_.comm(collectives_.front().comm());
    if (comm == nullptr || comm->kind == CommKind::kInter || comm->kind == CommKind::kRemote)
      return;
    if (rank_count(comm->members) > kWidestGroup) {
      ++tally.wide_groups;
      return;
    }
    add_others_of(comm->id);
  } else {
    for (const events::Send& send : sends_)
      group_.push_back(world_ranks_.of(send.comm(), send.peer()));
    for (const events::Receive& receive : receives_)
      group_.push_back(world_ranks_.of(receive.comm(), receive.peer()));
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
  for (const events::Send& send : sends_) bytes += send.bytes();
  for (const events::Receive& receive : receives_) bytes += receive.bytes();
  if (sends_.empty() && receives_.empty()) return;
  to << ",\"data\":" << number(bytes);
  if (call.leave_ns <= call.enter_ns) return;
  constexpr double kBytesOfAGigabit = 1 << 27;
  to << ",\"bandwidth\":";
  to.real(static_cast<double>(bytes) * 1e9 / kBytesOfAGigabit /
          static_cast<double>(call.leave_ns - call.enter_ns));
}

void FactText::write_lists(JsonText& to) const {
  const auto message = [](events::Message event) {
    return std::array<std::int64_t, 4>{event.comm(), event.peer(), event.tag(),
                                       number(event.bytes())};
  };
  const auto collective = [](events::CollectiveOperation event) {
    return std::array<std::int64_t, 5>{event.comm(), event.sequence(), event.root(),
                                       number(event.bytes_sent()), number(event.bytes_received())};
  };
  write_events(to, "sends", sends_, message);
  write_events(to, "receives", receives_, message);
  write_events(to, "collectives", collectives_, collective);
}

}  // namespace megascope::megascan
