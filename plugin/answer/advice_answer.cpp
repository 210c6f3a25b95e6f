#include "plugin/answer/advice_answer.h"

#include "analysis/advice/advice.h"
#include "analysis/advice/gather.h"
#include "plugin/answer/answer_view.h"
#include "plugin/answer/collective_words.h"

#include <algorithm>
#include <utility>

namespace megascope::answer {
namespace {

/// Sets the time in which each rank was blocked: neither on a core nor waiting for one. Ranks
/// without CPU times keep "not known".
void add_blocked_times(const AnswerView& view, advice::Facts& facts) {
  for (advice::RankFacts& rank : facts.ranks) {
    const auto found = std::ranges::find(view.cpu, rank.world_rank, &cpu::RankCpu::world_rank);
    if (found == view.cpu.end() || !found->has_readings() || !found->has_wait) continue;
    const cpu::CpuSums all = found->all();
    rank.blocked_ns = std::max(0.0, all.wall_ns - all.cpu_ns - all.wait_ns);
  }
}

}  // namespace

Advice make_advice(const AnswerView& view, advice::Gather& gather) {
  const auto name = [&](analysis::CommTable::Index comm) {
    return object_name(view.tables.comms, comm);
  };
  advice::Facts facts = gather.take(view.waits, name);
  add_blocked_times(view, facts);
  Advice advice{advice::advise(facts), {}};
  advice::name_regions(view.source, facts, advice.findings);
  for (advice::Finding& finding : advice.findings) {
    if (!finding.region.empty())
      finding.text += " Most of it is in region `" + finding.region + "`.";
  }
  advice.sites = std::move(facts.sites);
  return advice;
}

}  // namespace megascope::answer
