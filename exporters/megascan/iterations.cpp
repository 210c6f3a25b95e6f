#include "exporters/megascan/iterations.h"

#include "core/base/text.h"
#include "exporters/common/timeline.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace megascope::megascan {
namespace {

using Extents = std::map<std::int32_t, Iteration>;  ///< by step

void widen(Extents& extents, const Iteration& other) {
  const auto [at, is_new] = extents.try_emplace(other.step, other);
  if (is_new) return;
  at->second.begin_ns = std::min(at->second.begin_ns, other.begin_ns);
  at->second.end_ns = std::max(at->second.end_ns, other.end_ns);
}

void widen(Extents& extents, std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at + sizeof(Iteration) <= bytes.size(); at += sizeof(Iteration)) {
    Iteration iteration;
    std::memcpy(&iteration, bytes.data() + at, sizeof iteration);
    widen(extents, iteration);
  }
}

Collective::Bytes bytes_of(const Extents& extents) {
  Collective::Bytes bytes(extents.size() * sizeof(Iteration));
  std::byte* at = bytes.data();
  for (const auto& [step, iteration] : extents) {
    std::memcpy(at, &iteration, sizeof iteration);
    at += sizeof iteration;
  }
  return bytes;
}

Extents extents_of(const RecordSource& source) {
  Extents extents;
  const MessageOrder nothing;
  for (const std::int32_t rank : source.world_ranks()) {
    timeline::Timeline timeline(source, rank, nothing);
    OpenSteps steps;
    for (timeline::Event event; timeline.next(event);) {
      const std::int32_t step = steps.follow(event);
      if (event.kind == timeline::Event::Kind::kEnter)
        widen(extents, {step, event.time_ns, event.leave_ns});
    }
  }
  return extents;
}

}  // namespace

Status Iterations::of(const RecordSource& source, Collective& members, Iterations& iterations) {
  Collective::Bytes bytes = bytes_of(extents_of(source));
  const Status status = members.merge_all(
      bytes, [](Collective::Bytes& mine, std::span<const std::byte> theirs) {
        Extents both;
        widen(both, mine);
        widen(both, theirs);
        mine = bytes_of(both);
      });
  if (!status.is_ok()) return status;
  Extents extents;
  widen(extents, bytes);
  if (extents.size() > 1) extents.erase(kNoStep);
  if (extents.empty()) extents.try_emplace(kNoStep);
  for (const auto& [step, iteration] : extents) iterations.all_.push_back(iteration);
  std::ranges::sort(iterations.all_, {},
                    [](const Iteration& a) { return std::tuple(a.begin_ns, a.step); });
  for (std::size_t i = 0; i < iterations.all_.size(); ++i)
    iterations.index_of_[iterations.all_[i].step] = i;
  return Status::ok();
}

std::size_t Iterations::index_of(std::int32_t step) const {
  const auto at = index_of_.find(step);
  return at == index_of_.end() ? all_.size() : at->second;
}

std::uint64_t Iterations::pause_ns(std::size_t index) const {
  const std::uint64_t before_ns = index == 0 ? 0 : all_[index - 1].end_ns;
  return all_[index].begin_ns > before_ns ? all_[index].begin_ns - before_ns : 0;
}

std::vector<std::string> Iterations::notes() const {
  if (all_.front().step == kNoStep)
    return {
        "no steps are annotated: the whole run is one iteration, which MegaScan's --detect "
        "cannot evaluate"};
  std::uint64_t overlaps = 0;
  for (std::size_t i = 1; i < all_.size(); ++i)
    overlaps += all_[i].begin_ns < all_[i - 1].end_ns ? 1 : 0;
  if (overlaps == 0) return {};
  return {
      human_count(overlaps) + " of " + human_count(all_.size()) +
      " steps begin on one rank before the previous step has ended on others: MegaScan shows such "
      "steps one after the other (begin_ns has their begin)"};
}

}  // namespace megascope::megascan
