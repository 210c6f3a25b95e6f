#include "plugin/run/test_clock.h"

#include <charconv>
#include <string_view>

namespace megascope::run {
namespace {

constexpr double kMaxOffsetNs = 1e15;
constexpr double kMaxDriftPpm = 1e5;
constexpr double kMaxJitterNs = 1e9;

std::vector<std::string_view> fields_of(std::string_view item) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at <= item.size();) {
    const std::size_t end = std::min(item.find('/', at), item.size());
    fields.push_back(item.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

bool read_number(std::string_view text, double least, double most, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= least &&
         value <= most;
}

struct Item {
  double rank = 0.0;
  double offset_ns = 0.0;
  double drift_ppm = 0.0;
  double jitter_ns = 0.0;
};
bool read_item(std::string_view text, Item& item) {
  const std::vector<std::string_view> fields = fields_of(text);
  if (fields.size() != 3 && fields.size() != 4) return false;
  return read_number(fields[0], 0, 1e9, item.rank) &&
         read_number(fields[1], -kMaxOffsetNs, kMaxOffsetNs, item.offset_ns) &&
         read_number(fields[2], -kMaxDriftPpm, kMaxDriftPpm, item.drift_ppm) &&
         (fields.size() == 3 || read_number(fields[3], 0, kMaxJitterNs, item.jitter_ns));
}

}  // namespace

TestClocks read_test_clocks(const std::vector<std::string>& items, const std::string& rank) {
  TestClocks clocks;
  for (const std::string& text : items) {
    Item item;
    if (!read_item(text, item)) {
      clocks.problems.push_back(
          "MEGASCOPE_TEST_CLOCK: " + text +
          " is not <rank>/<offset_ns>/<drift_ppm>[/<jitter_ns>] and is ignored");
    } else if (std::to_string(static_cast<long>(item.rank)) == rank) {
      clocks.mine = {.offset_ns = static_cast<std::int64_t>(item.offset_ns),
                     .drift_ppm = item.drift_ppm,
                     .jitter_ns = static_cast<std::uint32_t>(item.jitter_ns)};
    }
  }
  return clocks;
}

}  // namespace megascope::run
