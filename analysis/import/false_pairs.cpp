#include "analysis/import/false_pairs.h"

#include <algorithm>
#include <map>

namespace megascope::importer {
namespace {

constexpr std::size_t kFewest = 50;
constexpr std::size_t kMaxOneIn = 50;
constexpr std::size_t kLookedAt = 16;  ///< operations behind one, for one that it encloses

std::uint64_t length_ns(const Operation& operation) {
  return operation.end_ns - operation.begin_ns;
}

/// Operations of one name and track, in order of begin.
class Family {
 public:
  Family(Timeline& timeline, std::vector<std::uint32_t> operations)
      : timeline_(timeline), operations_(std::move(operations)) {
    std::ranges::sort(operations_, {}, [this](std::uint32_t i) {
      return std::pair(timeline_.operations[i].begin_ns, ~timeline_.operations[i].end_ns);
    });
  }

  void split() const {
    if (operations_.size() < kFewest) return;
    std::vector<std::uint32_t> enclosing;
    std::uint64_t longest_ns = 0;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Operation& operation = at(i);
      if (operation.is_pair && encloses_another(i))
        enclosing.push_back(operations_[i]);
      else
        longest_ns = std::max(longest_ns, length_ns(operation));
    }
    std::erase_if(enclosing, [&](std::uint32_t i) {
      return length_ns(timeline_.operations[i]) <= 2 * longest_ns;
    });
    if (enclosing.size() * kMaxOneIn > operations_.size()) return;
    for (const std::uint32_t i : enclosing) split(i);
  }

 private:
  const Operation& at(std::size_t i) const { return timeline_.operations[operations_[i]]; }
  bool encloses_another(std::size_t i) const {
    for (std::size_t j = i + 1;
         j < std::min(operations_.size(), i + 1 + kLookedAt) && at(j).begin_ns < at(i).end_ns;
         ++j) {
      if (at(j).end_ns <= at(i).end_ns) return true;
    }
    return false;
  }
  void split(std::uint32_t i) const {
    const Operation whole = timeline_.operations[i];
    const std::string where = "\"" + timeline_.names[whole.name] + "\" of " +
                              std::to_string(length_ns(whole) / 1000) + " us";
    timeline_.operations[i].end_ns = whole.begin_ns;
    timeline_.repairs.add(RepairKind::kMissingEnd, where);
    timeline_.estimates.push_back({i, Estimate::Of::kEnd});
    timeline_.repairs.add(RepairKind::kMissingBegin, where);
    timeline_.estimates.push_back(
        {static_cast<std::uint32_t>(timeline_.operations.size()), Estimate::Of::kBegin});
    timeline_.operations.push_back({.begin_ns = whole.end_ns,
                                    .end_ns = whole.end_ns,
                                    .name = whole.name,
                                    .track = whole.track});
  }

  Timeline& timeline_;
  std::vector<std::uint32_t> operations_;
};

}  // namespace

void split_false_pairs(Timeline& timeline) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>>
      families;  // by track and name
  for (const Operation& operation : timeline.operations) {
    if (operation.is_pair) families[{operation.track, operation.name}];
  }
  if (families.empty()) return;
  std::vector<bool> is_estimated(timeline.operations.size());
  for (const Estimate& estimate : timeline.estimates) is_estimated[estimate.operation] = true;
  for (std::uint32_t i = 0; i < timeline.operations.size(); ++i) {
    const auto family = families.find({timeline.operations[i].track, timeline.operations[i].name});
    if (family != families.end() && !is_estimated[i]) family->second.push_back(i);
  }
  for (auto& [key, operations] : families) Family(timeline, std::move(operations)).split();
}

}  // namespace megascope::importer
