#include "core/hooks/parallel_layout.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace megascope::hooks {
namespace {

constexpr std::size_t kMaxNameBytes = 64;
constexpr std::string_view kOrder = "order";

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Parses "name=size". Returns false if malformed.
bool read_dimension(std::string_view item, ParallelIndex& dimension) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) return false;
  dimension.name = item.substr(0, equals);
  const std::string_view size = item.substr(equals + 1);
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), dimension.size);
  return error == std::errc{} && end == size.data() + size.size() && dimension.size > 0 &&
         is_dimension_name(dimension.name);
}

/// Sorts the dimensions into the given order. Returns false if the order does not name each of them
/// once.
bool arrange(const std::vector<std::string>& order, std::vector<ParallelIndex>& dimensions) {
  std::vector<ParallelIndex> arranged;
  for (const std::string& name : order) {
    const auto found = std::ranges::find(dimensions, name, &ParallelIndex::name);
    if (found == dimensions.end()) return false;
    arranged.push_back(*found);
    dimensions.erase(found);
  }
  const bool is_whole = dimensions.empty();
  dimensions = std::move(arranged);
  return is_whole;
}

std::string product_text(const std::vector<ParallelIndex>& dimensions) {
  std::string text;
  for (const ParallelIndex& dimension : dimensions) {
    text += (text.empty() ? "" : " x ") + dimension.name + " " + std::to_string(dimension.size);
  }
  return text;
}

}  // namespace

bool is_dimension_name(std::string_view name) {
  const auto is_allowed = [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, is_allowed);
}

std::vector<ParallelIndex> places_in(const std::vector<std::string>& items, std::int32_t world_rank,
                                     std::int32_t world_size, std::string& problem) {
  std::vector<ParallelIndex> dimensions;
  std::vector<std::string> order;
  for (const std::string& item : items) {
    if (item.starts_with(std::string(kOrder) + "=")) {
      order = split(std::string_view(item).substr(kOrder.size() + 1), '-');
      continue;
    }
    ParallelIndex dimension;
    const bool is_new = read_dimension(item, dimension) &&
                        std::ranges::find(dimensions, dimension.name, &ParallelIndex::name) ==
                            dimensions.end();
    if (!is_new) {
      problem = "parallel groups: " + item.substr(0, kMaxNameBytes) +
                " is not <name>=<size>, or its name occurs twice";
      return {};
    }
    dimensions.push_back(std::move(dimension));
  }
  if (!order.empty() && !arrange(order, dimensions)) {
    problem = "parallel groups: the order does not name each dimension once";
    return {};
  }
  std::int64_t product = 1;
  for (const ParallelIndex& dimension : dimensions)
    product = std::min<std::int64_t>(product * dimension.size, std::int64_t{1} << 31);
  if (product != world_size) {
    problem = "parallel groups: " + product_text(dimensions) + " is not the number of ranks, " +
              std::to_string(world_size);
    return {};
  }
  std::int32_t rest = world_rank;
  for (ParallelIndex& dimension : dimensions) {
    dimension.index = rest % dimension.size;
    rest /= dimension.size;
  }
  return dimensions;
}

}  // namespace megascope::hooks
