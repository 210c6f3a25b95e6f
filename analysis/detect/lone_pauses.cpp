#include "analysis/detect/lone_pauses.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace megascope::detect {
namespace {

constexpr double kUsual = 1.0 / 3.0;
constexpr double kHeavyPart = 0.03;  ///< of the step's work
constexpr std::size_t
    kMinPeers = 4;  ///< that tell one step's usual parts; else the rank's other steps do
constexpr std::size_t kMinSteps = 3;
constexpr double kMaxSteps = 0.8;     ///< of the slow steps look like a pause
constexpr double kAlwaysThere = 0.9;  ///< of them are long in the same part
constexpr double kLargePart = 0.7;    ///< of the work: most pauses fall into it

using Parts = std::array<double, kParts>;

/// What one slow step looks like.
struct Shape {
  std::size_t longest = 0;   ///< part with most beyond what is usual
  double share = 0.0;        ///< that the part has of the usual work
  double off_if_slow = 0.0;  ///< squares of what remains, in shares of the parts' usual work
  double off_if_paused = 0.0;
};

class Shapes {
 public:
  Shapes(const Reduced& reduced, const std::vector<std::size_t>& peers, std::size_t rank,
         const Finding& finding)
      : reduced_(reduced), rows_(reduced.ranks[rank].steps), finding_(finding) {
    for (const std::size_t peer : peers) {
      if (reduced.ranks[peer].sequence == reduced.ranks[rank].sequence) peers_.push_back(peer);
    }
    if (peers_.size() < kMinPeers) own_ = own_usual();
  }

  /// False: one part at most weighs.
  bool look_at(std::size_t step, Shape& shape) const {
    const Parts usual = peers_.size() < kMinPeers ? own_ : usual_at(step);
    const double all = std::accumulate(usual.begin(), usual.end(), 0.0);
    std::vector<std::size_t> heavy;
    for (std::size_t part = 0; part < kParts; ++part) {
      if (usual[part] > kHeavyPart * all) heavy.push_back(part);
    }
    if (heavy.size() < 2) return false;
    const auto& work = rows_[step].work_ns;
    double time = 0.0;
    double expected = 0.0;
    for (const std::size_t part : heavy) {
      time += work[part];
      expected += usual[part];
    }
    shape.longest = *std::ranges::max_element(
        heavy, {}, [&](std::size_t part) { return work[part] - usual[part]; });
    shape.share = usual[shape.longest] / expected;
    for (const std::size_t part : heavy) {
      const double ratio = work[part] / usual[part];
      shape.off_if_slow += (ratio - time / expected) * (ratio - time / expected);
      if (part != shape.longest) shape.off_if_paused += (ratio - 1.0) * (ratio - 1.0);
    }
    return true;
  }

 private:
  Parts usual_at(std::size_t step) const {
    Parts usual{};
    std::vector<double> values;
    for (std::size_t part = 0; part < kParts; ++part) {
      values.clear();
      for (const std::size_t peer : peers_)
        values.push_back(reduced_.ranks[peer].steps[step].work_ns[part]);
      usual[part] = quantile(values, kUsual);
    }
    return usual;
  }
  /// In the steps in which it was not slow; none where there are too few.
  Parts own_usual() const {
    Parts usual{};
    std::vector<double> values;
    for (std::size_t part = 0; part < kParts; ++part) {
      values.clear();
      for (std::size_t step = 0; step < reduced_.step_count; ++step) {
        if (!finding_.is_active[step]) values.push_back(rows_[step].work_ns[part]);
      }
      if (values.size() >= kMinSteps) usual[part] = median(values);
    }
    return usual;
  }

  const Reduced& reduced_;
  std::vector<std::size_t>
      peers_;  ///< whose parts are the same work: other sequences of calls have others
  const std::vector<StepRow>& rows_;
  const Finding& finding_;
  Parts own_{};
};

}  // namespace

bool are_pauses(const Reduced& reduced, const std::vector<std::size_t>& peers, std::size_t rank,
                const Finding& finding) {
  const Shapes shapes(reduced, peers, rank, finding);
  std::array<std::size_t, kParts> longest{};
  std::array<double, kParts> shares{};
  Shape sum;
  std::size_t count = 0;
  std::size_t paused = 0;
  for (std::size_t step = finding.onset; step <= finding.last; ++step) {
    Shape shape;
    if (!finding.is_active[step] || !shapes.look_at(step, shape)) continue;
    ++count;
    paused += shape.off_if_paused < shape.off_if_slow ? 1 : 0;
    ++longest[shape.longest];
    shares[shape.longest] += shape.share;
    sum.off_if_slow += shape.off_if_slow;
    sum.off_if_paused += shape.off_if_paused;
  }
  if (count < kMinSteps || static_cast<double>(paused) < kMaxSteps * static_cast<double>(count) ||
      sum.off_if_paused > 0.5 * sum.off_if_slow)
    return false;
  const auto most = static_cast<std::size_t>(std::ranges::max_element(longest) - longest.begin());
  const bool is_one_part = static_cast<double>(longest[most]) >=
                           kAlwaysThere * static_cast<double>(count);
  return !is_one_part || shares[most] > kLargePart * static_cast<double>(longest[most]);
}

}  // namespace megascope::detect
