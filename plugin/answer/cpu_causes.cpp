#include "plugin/answer/cpu_causes.h"

#include "analysis/cpu/preempted.h"
#include "analysis/cpu/shared_core_noise.h"
#include "analysis/cpu/sleepers.h"
#include "analysis/cpu/whole_run.h"
#include "core/base/text.h"
#include "core/base/text_table.h"
#include "plugin/answer/collective_words.h"

#include <algorithm>

namespace megascope::answer {
namespace {

constexpr double kWorthShowing = 0.01;  ///< of a rank's time
constexpr double kStoodStill = 0.02;    ///< of a rank's time
constexpr std::size_t kSentenceColumns = 160;
constexpr std::size_t kMaxSentences = 4;

std::vector<RankCpus> cpus_in(const RecordSource& source) {
  std::vector<RankCpus> ranks;
  for (const std::int32_t rank : source.world_ranks()) {
    const ProcessInfo& info = source.process(rank).info;
    ranks.push_back({rank, info.host, info.cpus});
  }
  return ranks;
}

/// Returns whether the rank was without a core (blocked or waiting for one) for so long that its
/// calls must be read again to see where.
bool stood_still(const cpu::RankCpu& rank) {
  const cpu::CpuSums all = rank.all();
  return rank.has_wait && all.wall_ns - all.cpu_ns >= kStoodStill * all.wall_ns;
}

/// Returns the fraction of these ranks' time in which they waited for a core; < 0: not known for
/// all of them.
double waited_share(const AnswerView& view, const std::vector<std::int32_t>& ranks) {
  cpu::CpuSums sums;
  for (const cpu::RankCpu& rank : view.cpu) {
    if (std::ranges::find(ranks, rank.world_rank) == ranks.end()) continue;
    if (!rank.has_readings() || !rank.has_wait) return -1.0;
    sums.add(rank.all());
  }
  return sums.wall_ns > 0 ? sums.wait_ns / sums.wall_ns : -1.0;
}

}  // namespace

void explain_by_cpu_times(const RecordSource& source, unsigned jobs, AnswerView& view,
                          detect::Detection& detection) {
  const std::vector<RankCpus> cpus = cpus_in(source);
  view.shared_cores = shared_cores(cpus);
  view.cpu = cpu::cpu_sums(source);
  const bool has_readings = std::ranges::any_of(
      view.cpu, [](const cpu::RankCpu& rank) { return rank.has_readings(); });
  const bool is_unclear = !detection.root_causes.empty() || detection.judged_ranks.empty() ||
                          std::ranges::any_of(view.cpu, stood_still);
  if (!has_readings || !is_unclear) return;
  view.cpu = cpu::cpu_times(source, detection.steps, jobs);
  cpu::name_preempted(view.cpu, view.shared_cores, detection);
  cpu::dismiss_scheduling_noise(view.cpu, view.shared_cores, detection);
  const std::vector<cpu::Account> accounts = cpu::accounts_of(view.cpu, cpus);
  cpu::dismiss_sleepers(accounts, detection);
  cpu::judge_whole_run(accounts, detection);
}

std::vector<std::string> shared_cores_sentences(const AnswerView& view) {
  std::vector<std::string> sentences;
  for (const SharedCores& shared : view.shared_cores) {
    if (sentences.size() == kMaxSentences) break;
    const double waited = waited_share(view, shared.ranks);
    sentences.push_back(
        printable(to_text(shared), kSentenceColumns) + " (" + ranks_text(shared.ranks) + ")" +
        (waited < 0 ? "; the kernel does not report how long they waited for one."
                    : "; they waited " + percent_text(waited) + " of their time for one."));
  }
  if (view.shared_cores.size() > kMaxSentences) {
    sentences.push_back("And " + std::to_string(view.shared_cores.size() - kMaxSentences) +
                        " more such sets of ranks.");
  }
  return sentences;
}

bool shows_cpu_times(const AnswerView& view) {
  return !view.shared_cores.empty() || std::ranges::any_of(view.cpu, [](const cpu::RankCpu& rank) {
    const cpu::CpuSums all = rank.all();
    return rank.has_wait && all.wait_ns >= kWorthShowing * all.wall_ns && all.wall_ns > 0;
  });
}

}  // namespace megascope::answer
