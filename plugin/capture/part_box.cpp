#include "plugin/capture/part_box.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace megascope::capture {
namespace {

// 2^64 divided by the golden ratio: its multiples are spread evenly over 64-bit integers.
constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;

std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xBF58'476D'1CE4'E5B9;
  number = (number ^ (number >> 27)) * 0x94D0'49BB'1331'11EB;
  return number ^ (number >> 31);
}

auto place_of(const ViewPart& part) {
  return std::tuple(part.capture_request, part.key, part.micro_batch, part.replica);
}

/// Position of the tensor on a circle that turns with each step. The lowest position is sent first.
std::uint64_t turn_of(const ViewPart& part) {
  const std::uint64_t tensor = mixed(part.key ^
                                     mixed((std::uint64_t{part.capture_request} << 32) +
                                           static_cast<std::uint32_t>(part.micro_batch)));
  return tensor + static_cast<std::uint64_t>(part.step) * kGolden;
}

/// Prefers steps that other ranks select, too: multiples of higher powers of two, then newer ones.
bool is_better_step(std::int64_t a, std::int64_t b) {
  const int level_a = std::countr_zero(static_cast<std::uint64_t>(a));
  const int level_b = std::countr_zero(static_cast<std::uint64_t>(b));
  return level_a != level_b ? level_a > level_b : a > b;
}

struct Candidate {
  std::size_t index = 0;
  std::uint64_t again = 0;  ///< number of better steps of the same view
  std::uint64_t turn = 0;
};

/// Sorts the candidates, best first.
std::vector<Candidate> ranked(const std::vector<ViewPart>& parts) {
  std::vector<Candidate> order;
  order.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    order.push_back({.index = i, .again = 0, .turn = turn_of(parts[i])});
  std::ranges::sort(order, [&](const Candidate& a, const Candidate& b) {
    const ViewPart& one = parts[a.index];
    const ViewPart& other = parts[b.index];
    return place_of(one) != place_of(other) ? place_of(one) < place_of(other)
                                            : is_better_step(one.step, other.step);
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const bool is_same = place_of(parts[order[i].index]) == place_of(parts[order[i - 1].index]);
    order[i].again = is_same ? order[i - 1].again + 1 : 0;
  }
  std::ranges::sort(
      order, {}, [](const Candidate& one) { return std::tuple(one.again, one.turn, one.index); });
  return order;
}

}  // namespace

void PartBox::add(ViewPart&& part) {
  const std::size_t bytes = rank_update_bytes(part);
  parts_.push_back(std::move(part));
  bytes_ += bytes;
  if (bytes_ > 2 * space_) prune(space_);
}

/// Discards the parts that do not fit into `space`.
void PartBox::prune(std::size_t space) {
  if (bytes_ <= space) return;
  std::vector<bool> stays(parts_.size(), false);
  std::size_t bytes = 0;
  for (const Candidate& one : ranked(parts_)) {
    const std::size_t needed = rank_update_bytes(parts_[one.index]);
    if (needed > space - bytes) continue;
    bytes += needed;
    stays[one.index] = true;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!stays[i]) continue;
    if (kept != i) parts_[kept] = std::move(parts_[i]);
    ++kept;
  }
  left_out_ += parts_.size() - kept;
  parts_.resize(kept);
  bytes_ = bytes;
}

std::vector<ViewPart> PartBox::take(std::size_t space) {
  prune(space);
  bytes_ = 0;
  return std::exchange(parts_, {});  // in insertion order
}

}  // namespace megascope::capture
