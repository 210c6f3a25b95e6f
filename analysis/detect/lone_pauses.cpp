#include "analysis/detect/lone_pauses.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace megascope::detect {
namespace {

constexpr double kHeavyPart = 0.03;   ///< fraction of the step's work; lighter parts are not used
constexpr std::size_t kMinPeers = 4;  ///< peers from which a step's usual parts are estimated; with
                                      ///< fewer, the rank's other steps are used
constexpr std::size_t kMinSteps = 3;  ///< slow steps that can be compared by parts
constexpr double kMinPausedShare = 0.8;  ///< fraction of them that look like a pause, at least
constexpr double kMaxOff = 0.5;  ///< squared deviation from a pause, over that from slow work,
                                 ///< at most
constexpr double
    kAlwaysThere = 0.9;             ///< fraction of them that are long in the same part: slow work
constexpr double kLargePart = 0.7;  ///< exception: a part with this fraction of the work, in which
                                    ///< most pauses are by chance

using Parts = std::array<double, kParts>;

/// How the excess of a slow step is distributed over its parts.
struct Shape {
  std::size_t longest = 0;     ///< part with the largest excess, in ns
  double share = 0.0;          ///< fraction of the usual work that is in this part
  double off_if_slow = 0.0;    ///< squared deviations if all parts had the same factor, in units of
                               ///< the parts' usual work
  double off_if_paused = 0.0;  ///< the same if only `longest` was slow
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

  /// Computes the shape of a step. Returns false if fewer than two parts are heavy enough.
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
  /// Returns the rank's median parts in the steps in which it was not slow; 0 if these are too few.
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
      peers_;  ///< ranks with the same sequence of calls, whose parts contain the same work
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
  if (count < kMinSteps ||
      static_cast<double>(paused) < kMinPausedShare * static_cast<double>(count) ||
      sum.off_if_paused > kMaxOff * sum.off_if_slow)
    return false;
  const auto most = static_cast<std::size_t>(std::ranges::max_element(longest) - longest.begin());
  const bool is_one_part = static_cast<double>(longest[most]) >=
                           kAlwaysThere * static_cast<double>(count);
  return !is_one_part || shares[most] > kLargePart * static_cast<double>(longest[most]);
}

}  // namespace megascope::detect
