#include "analysis/hang/hang.h"

#include "analysis/common/parallel.h"
#include "analysis/hang/wait_graph.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace megascope::analysis {
namespace {

using Node = WaitGraph::Node;
constexpr Node kNoNode = 0xFFFFFFFF;

std::vector<RankEnd> rank_ends_of(const Processes& processes, std::int32_t world_size,
                                  const std::function<Existence(const ProcessInfo&)>& existence,
                                  bool& is_running) {
  std::vector<RankEnd> rank_ends(static_cast<std::size_t>(world_size), RankEnd::kMissing);
  std::vector<std::int32_t> gone;
  for (const ProcessState& state : processes.states) {
    const ProcessInfo& info = state.definitions->info;
    RankEnd& rank_end = rank_ends[static_cast<std::size_t>(state.world_rank)];
    rank_end = state.has_finalized                    ? RankEnd::kFinalized
               : info.end_state == EndState::kAborted ? RankEnd::kAborted
                                                      : RankEnd::kUnfinished;
    const Existence seen = existence(info);
    is_running = is_running || seen == Existence::kExists;
    if (seen == Existence::kGone && rank_end == RankEnd::kUnfinished)
      gone.push_back(state.world_rank);
  }
  for (const std::int32_t rank : gone) {
    if (is_running) rank_ends[static_cast<std::size_t>(rank)] = RankEnd::kDied;
  }
  return rank_ends;
}

/// Builds the wait-for graph. Nodes 0 … are the ranks; after them come waiting threads and what
/// several threads wait for together.
class GraphMaking {
 public:
  GraphMaking(const HangReport& report, const CommTable& comms) : report_(report), comms_(comms) {
    for (const RankEnd rank_end : report.rank_ends) graph.add(kind_of(rank_end));
    std::vector<bool> has_waiting(report.rank_ends.size(), false);
    for (const Waiting& waiting : report.waiting)
      has_waiting[static_cast<std::size_t>(waiting.world_rank)] = true;
    for (const ProcessState& state : report.processes.states) free_by_threads(state, has_waiting);
    for (const Waiting& waiting : report.waiting) add(waiting);
  }

  /// nodes[i] is the node of waiting[i]; targets[i][k] that of its want k, kNoNode if the want is
  /// fulfilled or its rank unknown.
  std::vector<Node> nodes;
  std::vector<std::vector<Node>> targets;
  WaitGraph graph;

 private:
  static WaitGraph::Kind kind_of(RankEnd rank_end) {
    switch (rank_end) {
      case RankEnd::kUnfinished:
        return WaitGraph::Kind::kAny;
      case RankEnd::kMissing:
        return WaitGraph::Kind::kFree;
      default:
        return WaitGraph::Kind::kDead;
    }
  }

  bool goes_on(std::int32_t rank) const {
    return report_.rank_ends[static_cast<std::size_t>(rank)] == RankEnd::kUnfinished;
  }

  /// A process can continue if one of its threads can. Below MPI_THREAD_MULTIPLE, other threads
  /// cannot call MPI while one is in a call.
  void free_by_threads(const ProcessState& state, const std::vector<bool>& has_waiting) {
    if (!goes_on(state.world_rank)) return;
    if (state.may_be_ahead)
      graph.set_kind(static_cast<Node>(state.world_rank), WaitGraph::Kind::kFree);
    constexpr int kMultiple = 3;
    const auto waits = [&](const ThreadState& thread) {
      return find_waiting(report_, state.world_rank, thread.location) != nullptr;
    };
    const bool has_wait = has_waiting[static_cast<std::size_t>(state.world_rank)];
    bool is_free = !has_wait;
    if (has_wait && state.definitions->info.thread_level >= kMultiple && state.threads.size() > 1) {
      is_free = std::ranges::any_of(state.threads, [&](const ThreadState& thread) {
        return thread.has_called && !thread.has_ended && !waits(thread);
      });
    }
    if (is_free) graph.set_kind(static_cast<Node>(state.world_rank), WaitGraph::Kind::kFree);
  }

  void add(const Waiting& waiting) {
    const Node node = graph.add(waiting.needs_all ? WaitGraph::Kind::kAll : WaitGraph::Kind::kAny);
    nodes.push_back(node);
    std::vector<Node>& to = targets.emplace_back(waiting.wants.size(), kNoNode);
    if (goes_on(waiting.world_rank)) graph.add_edge(static_cast<Node>(waiting.world_rank), node);
    const bool has_certain = std::ranges::any_of(
        waiting.wants, [](const Want& want) { return !want.is_met && !want.may_have_left; });
    bool is_free = waiting.wants.empty();
    for (std::size_t i = 0; i < waiting.wants.size(); ++i) {
      const Want& want = waiting.wants[i];
      const bool is_open = !want.is_met && want.is_known &&
                           !(want.may_have_left && (has_certain || !waiting.needs_all));
      if (is_open) to[i] = target_of(waiting, want);
      if (to[i] != kNoNode)
        graph.add_edge(node, to[i]);
      else
        is_free = is_free || !waiting.needs_all;
    }
    if (is_free) graph.set_kind(node, WaitGraph::Kind::kFree);
  }

  /// kNoNode: it waits for no known rank.
  Node target_of(const Waiting& waiting, const Want& want) {
    if (want.comm == CommTable::kNone) return kNoNode;
    if (want.kind == Want::Kind::kCollective) return instance_of(waiting, want);
    if (want.partner == kAnySource) return anybody_of(waiting, want);
    return want.partner >= 0 && static_cast<std::size_t>(want.partner) < report_.rank_ends.size()
               ? static_cast<Node>(want.partner)
               : kNoNode;
  }

  /// The other members of the communicator. The members of a large communicator share one node, so
  /// that each also waits for itself; this does not change which nodes can continue.
  Node anybody_of(const Waiting& waiting, const Want& want) {
    constexpr std::size_t kLarge = 1024;
    const std::vector<std::int32_t> partners = comms_.partners(waiting.world_rank, want.comm);
    const bool is_own = partners.size() < kLarge ||
                        comms_.entry(want.comm).kind == CommKind::kInter;
    const auto [found, is_new] = anybodies_.try_emplace(
        {want.comm, is_own ? waiting.world_rank : -1}, kNoNode);
    if (!is_new) return found->second;
    found->second = graph.add(WaitGraph::Kind::kAny);
    const bool is_left_out = is_own && graph.kind(static_cast<Node>(waiting.world_rank)) ==
                                           WaitGraph::Kind::kAny;
    for (const std::int32_t rank : partners) {
      if (rank != waiting.world_rank || !is_left_out) add_rank(found->second, rank);
    }
    return found->second;
  }

  Node instance_of(const Waiting& waiting, const Want& want) {
    if (!comms_.entry(want.comm).is_sure) return kNoNode;
    const FunctionTable::Function& function = report_.processes.function(waiting.world_rank,
                                                                         want.region);
    const auto has_come = [&](std::int32_t rank) {
      return has_entered(report_.processes, comms_, rank, want, function.name);
    };
    const bool is_root = want.partner == waiting.world_rank;
    const ProcessState* root = report_.processes.find(want.partner);
    const bool has_root = root != nullptr && !root->may_be_ahead;
    if (has_root && !is_root && !has_come(want.partner)) return static_cast<Node>(want.partner);
    const auto [found, is_new] = instances_.try_emplace(
        {want.comm, want.sequence, function.name_hash}, kNoNode);
    if (!is_new) return found->second;
    found->second = graph.add(WaitGraph::Kind::kAll);
    for (const std::int32_t rank : comms_.members(want.comm)) {
      const ProcessState* state = report_.processes.find(rank);
      if (state != nullptr && !state->may_be_ahead && !has_come(rank))
        add_rank(found->second, rank);
    }
    return found->second;
  }

  void add_rank(Node from, std::int32_t rank) {
    if (rank >= 0 && static_cast<std::size_t>(rank) < report_.rank_ends.size()) {
      graph.add_edge(from, static_cast<Node>(rank));
    }
  }

  const HangReport& report_;
  const CommTable& comms_;
  std::map<std::pair<CommTable::Index, std::int32_t>, Node> anybodies_;
  std::map<std::tuple<CommTable::Index, std::uint32_t, std::uint64_t>, Node> instances_;
};

std::vector<CycleStep> steps_of(const std::vector<Node>& cycle, const GraphMaking& making,
                                std::size_t rank_count) {
  std::vector<CycleStep> steps;
  const Node first_thread = making.nodes.empty() ? 0 : making.nodes.front();
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (cycle[i] >= rank_count) continue;
    const Node thread = cycle[(i + 1) % cycle.size()];
    const Node target = cycle[(i + 2) % cycle.size()];
    std::size_t next = i + 2;
    while (cycle[next % cycle.size()] >= rank_count) ++next;
    const auto at = std::ranges::lower_bound(making.nodes, thread);
    if (thread < first_thread || at == making.nodes.end() || *at != thread) return {};
    CycleStep step{.world_rank = static_cast<std::int32_t>(cycle[i]),
                   .waiting = static_cast<std::uint32_t>(at - making.nodes.begin()),
                   .next = static_cast<std::int32_t>(cycle[next % cycle.size()])};
    const std::vector<Node>& targets = making.targets[step.waiting];
    step.want = static_cast<std::uint32_t>(std::ranges::find(targets, target) - targets.begin());
    if (step.want == targets.size()) return {};
    steps.push_back(step);
  }
  return steps;
}

std::vector<AwaitedRank> awaited_ranks_of(const HangReport& report, const GraphMaking& making) {
  std::vector<bool> waits(report.rank_ends.size(), false);
  for (std::size_t i = 0; i < report.waiting.size(); ++i) {
    const bool has_target = std::ranges::any_of(making.targets[i],
                                                [](Node node) { return node != kNoNode; });
    const bool has_free_thread = making.graph.kind(static_cast<Node>(
                                     report.waiting[i].world_rank)) == WaitGraph::Kind::kFree;
    if (has_target && !has_free_thread)
      waits[static_cast<std::size_t>(report.waiting[i].world_rank)] = true;
  }
  std::vector<AwaitedRank> awaited_ranks;
  for (const auto& [rank, direct] : making.graph.most_wanted(static_cast<Node>(waits.size()))) {
    if (waits[rank] && report.rank_ends[rank] == RankEnd::kUnfinished) continue;
    if (awaited_ranks.size() == HangReport::kMaxAwaitedRanks) break;
    const auto limit = static_cast<Node>(report.rank_ends.size());
    awaited_ranks.push_back(
        {static_cast<std::int32_t>(rank), making.graph.waiting_count(rank, limit)});
  }
  std::ranges::stable_sort(awaited_ranks, [](const AwaitedRank& a, const AwaitedRank& b) {
    return a.waiting_count > b.waiting_count;
  });
  return awaited_ranks;
}

}  // namespace

const Waiting* find_waiting(const HangReport& report, std::int32_t world_rank,
                            LocationId location) {
  const auto found = std::ranges::lower_bound(
      report.waiting, std::pair(world_rank, location), {},
      [](const Waiting& waiting) { return std::pair(waiting.world_rank, waiting.location); });
  const bool is_it = found != report.waiting.end() && found->world_rank == world_rank &&
                     found->location == location;
  return is_it ? &*found : nullptr;
}

std::size_t HangReport::stuck_count() const {
  std::vector<std::int32_t> ranks;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (is_stuck[i] && (ranks.empty() || ranks.back() != waiting[i].world_rank))
      ranks.push_back(waiting[i].world_rank);
  }
  return ranks.size();
}

Processes read_processes(const RecordSource& source, unsigned jobs) {
  Processes processes;
  processes.source = &source;
  const std::vector<std::int32_t>& ranks = source.world_ranks();
  processes.states.resize(ranks.size());
  for (const std::int32_t rank : ranks) processes.functions.emplace_back(source.process(rank));
  for_each_index(ranks.size(), jobs, [&](std::size_t i) {
    processes.states[i] = read_process(source, ranks[i], processes.functions[i]);
  });
  return processes;
}

bool has_entered(const Processes& processes, const CommTable& comms, std::int32_t world_rank,
                 const Want& collective, std::string_view function) {
  const ProcessState* state = processes.find(world_rank);
  const CommProgress* progress = state != nullptr ? state->progress_on(
                                                        comms.slot_in(world_rank, collective.comm))
                                                  : nullptr;
  if (progress == nullptr || progress->count <= collective.sequence) return false;
  return progress->count > collective.sequence + 1 ||
         processes.function(world_rank, progress->last_region).name == function;
}

std::vector<std::int32_t> not_entered(const HangReport& report, const CommTable& comms,
                                      const Waiting& waiting, const Want& collective) {
  std::vector<std::int32_t> ranks;
  const std::string_view function = report.processes.function(waiting.world_rank, collective.region)
                                        .name;
  for (const std::int32_t rank : comms.members(collective.comm)) {
    if (report.processes.find(rank) == nullptr) continue;
    if (!has_entered(report.processes, comms, rank, collective, function)) ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

HangReport analyze_hang(const RecordSource& source, const CommTable& comms,
                        const std::function<Existence(const ProcessInfo&)>& existence,
                        unsigned jobs) {
  HangReport report;
  report.processes = read_processes(source, jobs);
  report.rank_ends = rank_ends_of(report.processes, source.world_size(), existence,
                                  report.is_running);
  MessageCounts counts;
  report.waiting = collect_waiting(report.processes, comms, counts);
  counts.count(source, comms, jobs);
  judge_messages(report.processes, comms, counts, report.waiting);
  report.mismatches = find_mismatches(report.processes, comms);
  GraphMaking making(report, comms);
  making.graph.solve();
  for (const Node node : making.nodes) report.is_stuck.push_back(making.graph.is_stuck(node));
  for (const auto& cycle : making.graph.cycles()) {
    std::vector<CycleStep> steps = steps_of(cycle, making, report.rank_ends.size());
    if (!steps.empty()) report.cycles.push_back(std::move(steps));
  }
  report.awaited_ranks = awaited_ranks_of(report, making);
  return report;
}

}  // namespace megascope::analysis
