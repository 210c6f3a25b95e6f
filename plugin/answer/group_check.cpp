#include "plugin/answer/group_check.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace megascope::answer {
namespace {

constexpr const char* kPipeline = "pp";
constexpr double kMaxContradicting = 0.1;

}  // namespace

std::size_t GroupCheck::index_of(std::int32_t world_rank) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(world_ranks_, world_rank) -
                                  world_ranks_.begin());
}

void GroupCheck::Task::add(bool is_contradicting, std::int32_t a, std::int32_t b) {
  ++count;
  if (!is_contradicting) return;
  ++contradicting;
  const std::pair pair(std::min(a, b), std::max(a, b));
  if (example.first < 0 || pair < example) example = pair;
}

void GroupCheck::add_message(std::size_t task, const analysis::MessageEnd& send,
                             const analysis::MessageEnd& receive) {
  if (!groups_.contains(kPipeline)) return;
  const std::size_t from = index_of(send.world_rank);
  const std::size_t to = index_of(receive.world_rank);
  const auto differing = std::ranges::count_if(
      groups_, [&](const auto& entry) { return entry.second[from] != entry.second[to]; });
  tasks_[task].add(differing > 1, send.world_rank, receive.world_rank);
}

void GroupCheck::add_collective(std::size_t task, const analysis::Collective& collective) {
  const bool is_hidden = tables_.functions.function(collective.function).op == CollectiveOp::kNone;
  if (groups_.empty() || is_hidden || !collective.is_whole || collective.members.size() < 2) return;
  const auto [known, is_new] = tasks_[task].fits.try_emplace(collective.comm);
  Fit& fit = known->second;
  if (is_new) {
    std::set<std::int32_t> ranks;
    for (const analysis::CollectiveEnd& end : collective.members) ranks.insert(end.world_rank);
    fit = {do_fit(collective), {*ranks.begin(), *ranks.rbegin()}};
    if (ranks.size() > 1) fit.lowest.second = *std::next(ranks.begin());
  }
  tasks_[task].add(!fit.does, fit.lowest.first, fit.lowest.second);
}

bool GroupCheck::do_fit(const analysis::Collective& collective) const {
  std::size_t differing = 0;
  std::size_t product = 1;
  for (const auto& entry : groups_) {
    std::set<std::int32_t> indices;
    for (const analysis::CollectiveEnd& end : collective.members)
      indices.insert(entry.second[index_of(end.world_rank)]);
    differing += indices.size() > 1 ? 1 : 0;
    product *= indices.size();
  }
  return differing < 2 || collective.members.size() >= product;
}

std::string GroupCheck::contradiction() const {
  Task all;
  for (const Task& task : tasks_) {
    all.count += task.count;
    all.contradicting += task.contradicting;
    const bool is_lower = task.example.first >= 0 &&
                          (all.example.first < 0 || task.example < all.example);
    if (is_lower) all.example = task.example;
  }
  if (static_cast<double>(all.contradicting) <= kMaxContradicting * static_cast<double>(all.count))
    return {};
  return fmt::format(
      "the specified parallel groups are ignored: they contradict {} of {} messages and "
      "collectives, such as those of rank {} with rank {}.",
      human_count(all.contradicting), human_count(all.count), all.example.first,
      all.example.second);
}

}  // namespace megascope::answer
