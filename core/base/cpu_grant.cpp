#include "core/base/cpu_grant.h"

#include "core/base/first_line.h"
#include "core/base/text.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>

namespace megascope {
namespace {

/// Returns quota / period in processors. 0: no limit ("max" in version 2, -1 in version 1, or no
/// such file).
double ratio_of(std::string_view quota, std::string_view period) {
  const std::optional<std::uint64_t> quota_us = parse_count(quota);
  const std::optional<std::uint64_t> period_us = parse_count(period);
  return quota_us && period_us && *period_us != 0
             ? static_cast<double>(*quota_us) / static_cast<double>(*period_us)
             : 0;
}

double granted_in_version_2(const std::string& directory) {
  const std::string line = first_line(directory + "/cpu.max");
  const std::size_t blank = std::min(line.find(' '), line.size());
  return ratio_of(line.substr(0, blank), line.substr(std::min(blank + 1, line.size())));
}

double granted_in_version_1(const std::string& directory) {
  return ratio_of(first_line(directory + "/cpu.cfs_quota_us"),
                  first_line(directory + "/cpu.cfs_period_us"));
}

bool has_cpu(std::string_view controllers) {
  return controllers == "cpu" || controllers.starts_with("cpu,") || controllers.ends_with(",cpu") ||
         controllers.find(",cpu,") != controllers.npos;
}

}  // namespace

CpuGrant cpu_grant(const std::string& groups, const std::string& mounts) {
  CpuGrant least;
  const auto take = [&least](double granted, const std::string& group) {
    if (granted > 0 && (least.processors == 0 || granted < least.processors))
      least = {granted, group};
  };
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = std::min(line.find(':'), line.size());
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !has_cpu(controllers)) continue;
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      if (controllers.empty()) take(granted_in_version_2(mounts + path), path);
      if (controllers.empty()) take(granted_in_version_2(mounts + "/unified" + path), path);
      if (!controllers.empty()) take(granted_in_version_1(mounts + "/" + controllers + path), path);
      if (controllers.find(',') != std::string::npos)
        take(granted_in_version_1(mounts + "/cpu" + path), path);
      if (path.find('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace megascope
