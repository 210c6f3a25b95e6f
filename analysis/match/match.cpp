#include "analysis/match/match.h"

#include "analysis/common/workers.h"
#include "analysis/match/collective_join.h"
#include "analysis/match/message_join.h"
#include "analysis/match/rank_reader.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace megascope::analysis {
namespace {

/// Calls per thread in a window: enough that waking threads is cheap, few enough that the window
/// stays in the cache.
constexpr std::uint64_t kWindowCalls = 1 << 12;
constexpr std::uint64_t kFirstWindow_ns = 1'000'000;

/// The pass over all ranks, one window of time after the other. In each window, threads first read
/// the calls of all ranks, then match the ends.
class MatchPass {
 public:
  MatchPass(const RecordSource& source, const MatchTables& tables, MatchSink& sink, unsigned jobs)
      : sink_(sink),
        window_calls_(kWindowCalls * std::max(jobs, 1U)),
        task_count_(jobs <= 1 ? 1 : std::size_t{jobs} * 2),
        states_(tables.states),
        has_finished_(static_cast<std::size_t>(std::max(source.world_size(), 0))),
        workers_(std::max(jobs, 1U)) {
    const std::size_t processes = source.world_ranks().size();
    readers_.resize(processes);
    outboxes_.assign(processes, Outbox(task_count_));
    sink_.begin(task_count_);
    workers_.for_each(processes, [&](std::size_t i) {
      readers_[i] = std::make_unique<RankReader>(source, tables, i, sink_);
    });
    for (std::size_t task = 0; task < task_count_; ++task) {
      tasks_.push_back(std::make_unique<Task>(tables, states_, task));
    }
  }

  Matching run() {
    std::uint64_t window_ns = kFirstWindow_ns;
    std::uint64_t first_ns = 0;
    while (find_next(first_ns)) {
      const std::uint64_t before = call_count();
      read(first_ns + window_ns);
      match();
      const std::uint64_t count = call_count() - before;
      if (count > 2 * window_calls_ && window_ns > 1) window_ns /= 2;
      if (count < window_calls_ / 2 && window_ns < kLongestWindow_ns) window_ns *= 2;
    }
    match();  // the ends that readers created at the end of their traces
    return collect();
  }

 private:
  static constexpr std::uint64_t kLongestWindow_ns = std::uint64_t{1} << 40;
  struct Task {
    Task(const MatchTables& tables, const RankStates& states, std::size_t number)
        : messages(states, number), collectives(tables, states, number) {}
    MessageJoin messages;
    CollectiveJoin collectives;
    Matching result;
  };

  std::uint64_t call_count() const {
    std::uint64_t count = 0;
    for (const auto& reader : readers_) {
      for (const TrackTotals& totals : reader->totals()) count += totals.call_count;
    }
    return count;
  }
  bool find_next(std::uint64_t& first_ns) const {
    bool is_found = false;
    for (const auto& reader : readers_) {
      if (reader->is_at_end()) continue;
      first_ns = is_found ? std::min(first_ns, reader->next_ns()) : reader->next_ns();
      is_found = true;
    }
    return is_found;
  }
  void read(std::uint64_t limit_ns) {
    workers_.for_each(readers_.size(),
                      [&](std::size_t i) { readers_[i]->read_until(limit_ns, outboxes_[i]); });
    for (const auto& reader : readers_) {
      const auto rank = static_cast<std::size_t>(reader->world_rank());
      if (!reader->is_at_end() || rank >= has_finished_.size() || has_finished_[rank]) continue;
      has_finished_[rank] = true;
      if (!reader->is_cut_short()) continue;
      RankState state = states_.of(reader->world_rank());
      state.has_losses = true;
      states_.set(reader->world_rank(), state);
    }
  }
  void match() {
    const bool some_finished = std::ranges::find(has_finished_, true) != has_finished_.end();
    workers_.for_each(task_count_, [&](std::size_t i) {
      Task& task = *tasks_[i];
      for (const Outbox& outbox : outboxes_) {
        for (const MessageEnd& end : outbox.tasks[i].messages)
          task.messages.add(end, task.result, sink_);
        for (const CollectiveEnd& end : outbox.tasks[i].collectives)
          task.collectives.add(end, task.result, sink_);
      }
      if (!some_finished) return;
      task.messages.give_up(has_finished_, task.result);
      task.collectives.give_up(has_finished_, task.result, sink_);
    });
    for (Outbox& outbox : outboxes_) outbox.clear();
    std::uint64_t in_flight = 0;
    for (const auto& task : tasks_)
      in_flight += task->messages.waiting_count() + task->collectives.waiting_count();
    max_in_flight_ = std::max(max_in_flight_, in_flight);
    sink_.end_window();
  }

  Matching collect() {
    Matching all;
    all.max_in_flight = max_in_flight_;
    all.states = states_;
    for (const auto& task : tasks_) {
      add(all, task->result);
      task->collectives.take_mismatches(all.mismatches);
    }
    std::ranges::sort(all.mismatches, {}, &Mismatch::comm);
    constexpr auto kLost = static_cast<std::size_t>(Unmatched::kLost);
    for (const auto& reader : readers_) {
      all.unmatched_sends[kLost] += reader->unmatched().sends;
      all.unmatched_receives[kLost] += reader->unmatched().receives;
      all.unsure_collectives += reader->unmatched().unsure_collectives;
      all.tracks.insert(all.tracks.end(), reader->totals().begin(), reader->totals().end());
    }
    for (const TrackTotals& totals : all.tracks) all.call_count += totals.call_count;
    return all;
  }
  static void add(Matching& all, const Matching& part) {
    all.message_count += part.message_count;
    all.collective_count += part.collective_count;
    all.mismatch_count += part.mismatch_count;
    all.greater_than_sent += part.greater_than_sent;
    all.violation_count += part.violation_count;
    all.worst_violation_ns = std::max(all.worst_violation_ns, part.worst_violation_ns);
    for (std::size_t i = 0; i < kUnmatchedCount; ++i) {
      all.unmatched_sends[i] += part.unmatched_sends[i];
      all.unmatched_receives[i] += part.unmatched_receives[i];
      all.partial_collectives[i] += part.partial_collectives[i];
    }
  }

  MatchSink& sink_;
  std::uint64_t window_calls_;
  std::size_t task_count_;
  RankStates states_;
  std::vector<bool> has_finished_;  ///< by world rank
  std::vector<std::unique_ptr<RankReader>> readers_;
  std::vector<Outbox> outboxes_;  ///< by reader
  std::vector<std::unique_ptr<Task>> tasks_;
  std::uint64_t max_in_flight_ = 0;
  Workers workers_;
};

}  // namespace

std::uint64_t Matching::unmatched() const {
  std::uint64_t count = 0;
  for (const auto* counts : {unmatched_sends, unmatched_receives, partial_collectives}) {
    count += std::accumulate(counts, counts + kUnmatchedCount, std::uint64_t{0});
  }
  return count;
}

Matching match_run(const RecordSource& source, const MatchTables& tables, MatchSink& sink,
                   unsigned jobs) {
  return MatchPass(source, tables, sink, jobs).run();
}

}  // namespace megascope::analysis
