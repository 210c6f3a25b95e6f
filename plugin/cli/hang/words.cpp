#include "core/base/text.h"
#include "core/base/text_table.h"
#include "plugin/cli/hang/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace megascope::cli {

using analysis::CommTable;
using analysis::Waiting;
using analysis::Want;

namespace {

constexpr std::size_t kMaxWantsNamed = 4;

std::string duration(std::uint64_t time_ns) {
  return human_duration(static_cast<std::int64_t>(time_ns));
}

std::string tag_text(std::int32_t tag) {
  return tag == kAnyTag ? "any tag" : fmt::format("tag {}", tag);
}

}  // namespace

std::string peer_text(const HangView& view, std::int32_t rank, std::int32_t own_rank) {
  if (own_rank == kNoPeer || rank == own_rank)
    return rank == own_rank ? "itself" : fmt::format("rank {}", rank);
  const std::int32_t size = view.source.world_size();
  const std::int32_t ahead = (rank - own_rank + size) % size;
  return ahead <= size / 2 ? fmt::format("its rank + {}", ahead)
                           : fmt::format("its rank - {}", size - ahead);
}

std::string ends_text(const HangView& view, const std::vector<std::int32_t>& ranks) {
  static constexpr std::pair<analysis::RankEnd, const char*> kEnds[] = {
      {analysis::RankEnd::kFinalized, "finalized"},
      {analysis::RankEnd::kDied, "died (its process has ended)"},
      {analysis::RankEnd::kAborted, "called MPI_Abort"}};
  std::vector<std::string> parts;
  for (const auto& [rank_end, what] : kEnds) {
    std::vector<std::int32_t> ended;
    std::ranges::copy_if(ranks, std::back_inserter(ended), [&, is = rank_end](std::int32_t rank) {
      return rank >= 0 && static_cast<std::size_t>(rank) < view.report.rank_ends.size() &&
             view.report.rank_ends[static_cast<std::size_t>(rank)] == is;
    });
    if (!ended.empty())
      parts.push_back(
          fmt::format("{} {} {}", ranks_text(ended), ended.size() == 1 ? "has" : "have", what));
  }
  return joined(parts, ", ");
}

namespace {

std::string collective_want(const HangView& view, const Waiting& waiting, const Want& want) {
  const std::vector<std::int32_t> missing = analysis::not_entered(view.report, view.comms, waiting,
                                                                  want);
  if (!view.comms.entry(want.comm).is_sure)
    return "a member of a communicator whose creation was not recorded";
  std::vector<std::int32_t> unknown;
  for (const std::int32_t rank : view.comms.members(want.comm)) {
    if (view.process(rank) == nullptr) unknown.push_back(rank);
  }
  std::ranges::sort(unknown);
  const std::string not_known = unknown.empty() ? "" : ranks_text(unknown) + ", without a trace";
  if (missing.empty())
    return unknown.empty() ? "no rank: all have entered it" : "perhaps " + not_known;
  std::string text = ranks_text(missing) + " to enter it";
  if (want.partner >= 0 && want.partner != waiting.world_rank &&
      std::ranges::binary_search(missing, want.partner)) {
    text = fmt::format("its root, rank {}, to enter it", want.partner);
  }
  if (!unknown.empty()) text += ", and perhaps " + not_known;
  const std::string ends = ends_text(view, missing);
  return ends.empty() ? text : text + " (" + ends + ")";
}

/// The window or file of a call, else its communicator.
CommTable::Index object_of(const HangView& view, const Waiting& waiting,
                           const analysis::ThreadState& thread) {
  const ProcessDefinitions& definitions = *view.process(waiting.world_rank)->definitions;
  for (const Fact& fact : thread.posted) {
    analysis::Slot slot = analysis::kNoSlot;
    if (events::is_any<events::RmaOperation, events::RmaSync, events::WindowUse>(fact))
      slot = analysis::slot_of_window(definitions, events::OneSided(fact).window());
    if (const auto call = events::as<events::FileCollective>(fact))
      slot = analysis::slot_of_file(definitions, call->file());
    const CommTable::Index object = view.comms.of(waiting.world_rank, slot);
    if (thread.is_inside && object != CommTable::kNone) return object;
  }
  return view.comms.of(waiting.world_rank, thread.comm);
}

}  // namespace

std::string HangView::comm_name(CommTable::Index comm) const {
  return answer::comm_name(comms, comm);
}

std::string HangView::object_name(CommTable::Index object) const {
  return answer::object_name(comms, object);
}

bool has_finding(const HangView& view) {
  return !view.report.cycles.empty() || !view.report.mismatches.empty() ||
         view.report.stuck_count() != 0;
}

std::string since_text(const HangView& view, std::uint64_t since_ns) {
  std::string text = "since " + duration(since_ns);
  if (view.report.is_running && view.now_ns > since_ns)
    text += " (" + duration(view.now_ns - since_ns) + " so far)";
  return text;
}

std::string call_text(const HangView& view, const Waiting& waiting) {
  const analysis::ThreadState& thread = view.process(waiting.world_rank)->threads[waiting.location];
  std::string text = view.function(waiting.world_rank, thread.region);
  const bool is_collective = !waiting.wants.empty() &&
                             waiting.wants.front().kind == Want::Kind::kCollective &&
                             waiting.wants.front().request == kNoRequest;
  if (is_collective) text += fmt::format(" #{}", waiting.wants.front().sequence);
  if (waiting.asked > 1) text += fmt::format(" over {} requests", waiting.asked);
  const CommTable::Index object = object_of(view, waiting, thread);
  if (object != CommTable::kNone) text += " of " + view.object_name(object);
  return text;
}

std::string want_text(const HangView& view, const Waiting& waiting, const Want& want,
                      std::int32_t own_rank) {
  const bool is_request = want.request != kNoRequest;
  const std::string started = is_request ? view.function(waiting.world_rank, want.region) : "";
  if (is_elsewhere(want)) return elsewhere_text(view, waiting, want, own_rank);
  const std::string on = is_request ? " on " + view.object_name(want.comm) : "";
  if (want.kind == Want::Kind::kCollective) {
    const std::string which = collective_want(view, waiting, want);
    return is_request ? fmt::format("{} #{}{}, i.e. {}", started, want.sequence, on, which) : which;
  }
  const std::string what = is_request ? started + ", " + tag_text(want.tag) : tag_text(want.tag);
  const std::string peer = want.partner == kAnySource ? "any rank"
                           : want.partner == kNoPeer  ? "an unknown rank"
                                                      : peer_text(view, want.partner, own_rank);
  const std::string end = want.partner >= 0 ? ends_text(view, {want.partner}) : "";
  const std::string ended = end.empty() ? "" : "; " + end;
  if (want.kind == Want::Kind::kReceive)
    return fmt::format("a message from {} ({}{}{})", peer, what, on, ended);
  const std::string size = want.bytes != 0 ? ", " + human_bytes(want.bytes) : "";
  return fmt::format("{} to receive the message ({}{}{}{})", peer, what, size, on, ended);
}

std::string wants_text(const HangView& view, const Waiting& waiting, std::int32_t own_rank) {
  if (waiting.wants.empty()) return "an unknown rank: the trace does not record which";
  const bool connects_worlds = waiting.wants.back().kind == Want::Kind::kWorld;
  std::vector<std::string> open;
  std::size_t met = 0;
  std::size_t unsure = 0;
  for (const Want& want : waiting.wants) {
    const bool has_come = connects_worlds && want.kind == Want::Kind::kCollective &&
                          analysis::not_entered(view.report, view.comms, waiting, want).empty();
    if (has_come) continue;
    if (want.is_met)
      ++met;
    else if (want.may_have_left && waiting.wants.size() > 1)
      ++unsure;
    else
      open.push_back(want_text(view, waiting, want, own_rank) +
                     (want.is_known ? "" : ", details unknown"));
  }
  if (open.empty() && unsure == 0) return "no rank: its operations are already matched";
  const std::size_t left_out = open.size() > kMaxWantsNamed ? open.size() - kMaxWantsNamed : 0;
  open.resize(open.size() - left_out);
  std::string text = joined(open, waiting.needs_all ? "; " : "; or ");
  if (left_out != 0) text += fmt::format("; and {} more", left_out);
  const auto note = [&text](std::size_t count, const char* one, const char* several) {
    if (count != 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", count, count == 1 ? one : several);
  };
  note(unsure, "send that may have completed", "sends that may have completed");
  note(met, "operation that is already matched", "operations that are already matched");
  return text;
}

}  // namespace megascope::cli
