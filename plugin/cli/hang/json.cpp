#include "plugin/cli/hang/view.h"
#include "plugin/cli/run_directory/run_ends.h"

#include <nlohmann/json.hpp>

#include <set>
#include <tuple>

namespace megascope::cli {
namespace {

using Json = nlohmann::ordered_json;
using analysis::Mismatch;
using analysis::RankEnd;
using analysis::ThreadState;
using analysis::Waiting;
using analysis::Want;

double seconds(std::uint64_t time_ns) { return static_cast<double>(time_ns) * 1e-9; }

const char* rank_end_name(RankEnd rank_end) {
  static constexpr const char* kNames[] = {"goes_on", "finalized", "aborted", "died", "missing"};
  return kNames[static_cast<std::size_t>(rank_end)];
}
const char* kind_name(Want::Kind kind) {
  static constexpr const char* kNames[] = {"receive", "send",   "collective", "post",    "complete",
                                           "lock",    "target", "world",      "transfer"};
  return kNames[static_cast<std::size_t>(kind)];
}
Json rank_or_null(std::int32_t rank) {
  if (rank == kAnySource) return "any";
  return rank >= 0 ? Json(rank) : Json(nullptr);
}

/// Adds the communicator of a call, and its window or file.
void add_object(Json& json, const HangView& view, analysis::CommTable::Index object) {
  json["communicator"] = view.comm_name(object);
  if (object == analysis::CommTable::kNone) return;
  const analysis::CommTable::Entry& entry = view.comms.entry(object);
  if (entry.what == analysis::CommTable::What::kWindow) json["window"] = entry.name;
  if (entry.what == analysis::CommTable::What::kFile) json["file"] = entry.name;
}

Json want_json(const HangView& view, const Waiting& waiting, const Want& want) {
  Json json = {{"kind", kind_name(want.kind)},
               {"function", view.function(waiting.world_rank, want.region)},
               {"rank", rank_or_null(want.partner)}};
  add_object(json, view, want.comm);
  const bool has_target = want.kind == Want::Kind::kLock || want.kind == Want::Kind::kTarget;
  if (has_target) json["target"] = rank_or_null(want.target);
  if (want.kind == Want::Kind::kCollective) {
    json["sequence"] = want.sequence;
  } else if (!is_message(want)) {
    json["other_side_done"] = want.is_known ? Json(want.is_met) : Json(nullptr);
  } else {
    json["tag"] = want.tag == kAnyTag ? Json("any") : Json(want.tag);
    json["bytes"] = want.bytes;
    json["other_side_done"] = want.is_known ? Json(want.is_met) : Json(nullptr);
  }
  json["since_s"] = seconds(want.since_ns);
  return json;
}

Json thread_json(const HangView& view, const analysis::ProcessState& state,
                 const ThreadState& thread, std::size_t& at) {
  const auto& all = view.report.waiting;
  const bool waits = at < all.size() && all[at].world_rank == state.world_rank &&
                     all[at].location == thread.location;
  const bool polls = waits && all[at].is_polling;
  Json json = {{"thread", state.definitions->locations[thread.location].name},
               {"state", thread.has_ended   ? "ended"
                         : polls            ? "polls"
                         : thread.is_inside ? "inside"
                                            : "outside"},
               {"function", view.function(state.world_rank, thread.region)},
               {"communicator", nullptr},
               {"since_s", seconds(polls              ? thread.poll_since_ns
                                   : thread.is_inside ? thread.enter_ns
                                                      : thread.leave_ns)}};
  const auto comm = view.comms.of(state.world_rank, thread.comm);
  if (comm != analysis::CommTable::kNone) json["communicator"] = view.comm_name(comm);
  if (!waits) return json;
  json["stuck"] = static_cast<bool>(view.report.is_stuck[at]);
  json["needs"] = all[at].needs_all ? "all" : "any";
  json["waits_for"] = Json::array();
  for (const Want& want : all[at].wants)
    json["waits_for"].push_back(want_json(view, all[at], want));
  ++at;
  return json;
}

Json ranks_json(const HangView& view) {
  Json ranks = Json::array();
  std::size_t at = 0;
  auto state = view.report.processes.states.begin();
  for (std::size_t rank = 0; rank < view.report.rank_ends.size(); ++rank) {
    Json json = {{"rank", rank},
                 {"state", rank_end_name(view.report.rank_ends[rank])},
                 {"threads", Json::array()}};
    const bool is_here = state != view.report.processes.states.end() &&
                         state->world_rank == static_cast<std::int32_t>(rank);
    if (is_here) {
      for (const ThreadState& thread : state->threads) {
        if (thread.has_called) json["threads"].push_back(thread_json(view, *state, thread, at));
      }
      json["records_lost"] = state->has_losses;
      ++state;
    }
    ranks.push_back(std::move(json));
  }
  return ranks;
}

/// Collectives with waiting ranks, and the ranks that have not entered; each once.
Json collectives_json(const HangView& view) {
  std::set<std::tuple<analysis::CommTable::Index, std::uint32_t, std::string>> seen;
  Json collectives = Json::array();
  for (const Waiting& waiting : view.report.waiting) {
    for (const Want& want : waiting.wants) {
      if (want.kind != Want::Kind::kCollective || want.comm == analysis::CommTable::kNone) continue;
      const std::string function = view.function(waiting.world_rank, want.region);
      if (!seen.insert({want.comm, want.sequence, function}).second) continue;
      Json& collective = collectives.emplace_back();
      add_object(collective, view, want.comm);
      collective["sequence"] = want.sequence;
      collective["function"] = function;
      collective["not_entered"] = analysis::not_entered(view.report, view.comms, waiting, want);
    }
  }
  return collectives;
}

Json cycles_json(const HangView& view) {
  Json cycles = Json::array();
  for (const auto& cycle : view.report.cycles) {
    Json steps = Json::array();
    for (const analysis::CycleStep& step : cycle) {
      const Waiting& waiting = view.report.waiting[step.waiting];
      const ThreadState& thread = view.process(step.world_rank)->threads[waiting.location];
      steps.push_back({{"rank", step.world_rank},
                       {"function", view.function(step.world_rank, thread.region)},
                       {"waits_for", want_json(view, waiting, waiting.wants[step.want])},
                       {"next_rank", step.next}});
    }
    cycles.push_back(std::move(steps));
  }
  return cycles;
}

Json mismatches_json(const HangView& view) {
  Json all = Json::array();
  for (const Mismatch& mismatch : view.report.mismatches) {
    Json participants = Json::array();
    for (const Mismatch::Participant& participant : mismatch.participants) {
      Json json = {{"ranks", participant.world_ranks}};
      if (mismatch.what == Mismatch::What::kCount) {
        json["count"] = participant.count;
      } else {
        json["function"] = std::string(participant.shape.function);
        json["root"] = rank_or_null(participant.shape.root);
      }
      participants.push_back(std::move(json));
    }
    Json json;
    add_object(json, view, mismatch.comm);
    json["what"] = what_name(mismatch.what);
    if (mismatch.what != Mismatch::What::kCount) json["sequence"] = mismatch.sequence;
    json["parties"] = std::move(participants);
    json["text"] = mismatch_text(view.comms, mismatch);
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace

std::string hang_json(const HangView& view) {
  Json json;
  json["run_id"] = view.report.processes.states.front().definitions->info.run_id;
  json["ranks"] = view.source.world_size();
  json["running"] = view.report.is_running;
  json["now_s"] = seconds(view.now_ns);
  json["finding"] = has_finding(view);
  json["open_ends"] = open_ends_json(view.open_ends);
  json["deadlocks"] = cycles_json(view);
  json["waited_for"] = Json::array();
  for (const analysis::AwaitedRank& awaited : view.report.awaited_ranks) {
    json["waited_for"].push_back(
        {{"rank", awaited.world_rank}, {"waiting_ranks", awaited.waiting_count}});
  }
  json["mismatches"] = mismatches_json(view);
  json["collectives"] = collectives_json(view);
  json["other_worlds"] = view.other_worlds;
  json["per_rank"] = ranks_json(view);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace megascope::cli
