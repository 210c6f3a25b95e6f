#include "core/base/node_cpus.h"

#include "core/base/cpu_grant.h"
#include "core/base/first_line.h"
#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <sched.h>

namespace megascope {
namespace {

constexpr std::uint32_t kMaxNumber = 1U << 24;
constexpr std::size_t kMaxNumbers = 1U << 16;
constexpr std::size_t kMaxGroupBytes = 200;
constexpr char kCpuDirectory[] = "/sys/devices/system/cpu/";

/// Returns the affinity mask of the calling thread, ascending; empty if it cannot be read.
std::vector<std::uint32_t> usable_processors() {
  for (std::size_t bits = CPU_SETSIZE; bits <= kMaxNumbers; bits *= 2) {
    std::vector<cpu_set_t> mask(bits / CPU_SETSIZE);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) != 0) continue;  // the kernel's mask is larger
    std::vector<std::uint32_t> processors;
    for (std::size_t i = 0; i < bits; ++i) {
      if (CPU_ISSET_S(i, bytes, mask.data())) processors.push_back(static_cast<std::uint32_t>(i));
    }
    return processors;
  }
  return {};
}

/// Returns the processors of the core that `processor` belongs to; `processor` alone if the kernel
/// does not report it.
std::vector<std::uint32_t> siblings_of(std::uint32_t processor, const std::string& root) {
  const std::string directory = root + kCpuDirectory + "cpu" + std::to_string(processor) +
                                "/topology/";
  std::vector<std::uint32_t> siblings;
  if (parse_number_list(first_line(directory + "thread_siblings_list"), siblings) &&
      !siblings.empty())
    return siblings;
  return {processor};
}

/// Returns the lowest processor of each core. processors: ascending.
std::vector<std::uint32_t> cores_of(const std::vector<std::uint32_t>& processors,
                                    const std::string& root) {
  if (first_line(root + kCpuDirectory + "smt/active") == "0") return processors;
  std::vector<std::uint32_t> cores;
  std::vector<std::uint32_t> seen;  // other processors of cores already counted, ascending
  for (const std::uint32_t processor : processors) {
    if (std::ranges::binary_search(seen, processor)) continue;
    const std::vector<std::uint32_t> siblings = siblings_of(processor, root);
    cores.push_back(siblings.front());
    for (const std::uint32_t sibling : siblings)
      seen.insert(std::ranges::upper_bound(seen, sibling), sibling);
  }
  std::ranges::sort(cores);
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  const std::optional<std::uint64_t> number = parse_count(text);
  return number && *number < kMaxNumber ? std::optional(static_cast<std::uint32_t>(*number))
                                        : std::nullopt;
}

std::string whole_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void add_grant(const std::string& root, NodeCpus& cpus) {
  const CpuGrant grant = cpu_grant(whole_text(root + "/proc/self/cgroup"), root + "/sys/fs/cgroup");
  if (grant.processors <= 0 || grant.processors >= 1e6) return;
  cpus.granted_milli = static_cast<std::uint32_t>(
      std::max(1.0, std::round(grant.processors * 1000)));
  cpus.group = grant.group.substr(0, kMaxGroupBytes);
  std::ranges::replace_if(
      cpus.group, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7F'; }, '_');
}

bool set_word(std::string_view name, std::string_view value, NodeCpus& cpus) {
  if (name == "cores") return parse_number_list(value, cpus.cores);
  if (name == "group") cpus.group = value.substr(0, kMaxGroupBytes);
  if (name == "core_wait") cpus.has_core_wait = value != "unknown";
  std::uint32_t* const number = name == "processors"        ? &cpus.processors
                                : name == "node_cores"      ? &cpus.node_cores
                                : name == "node_processors" ? &cpus.node_processors
                                : name == "granted_milli"   ? &cpus.granted_milli
                                                            : nullptr;
  if (number == nullptr) return true;
  const std::optional<std::uint64_t> parsed = parse_count(value);
  if (!parsed || *parsed > UINT32_MAX) return false;
  *number = static_cast<std::uint32_t>(*parsed);
  return true;
}

}  // namespace

NodeCpus node_cpus() { return node_cpus(usable_processors(), ""); }

NodeCpus node_cpus(const std::vector<std::uint32_t>& processors, const std::string& root) {
  NodeCpus cpus;
  cpus.cores = cores_of(processors, root);
  cpus.processors = static_cast<std::uint32_t>(processors.size());
  std::vector<std::uint32_t> online;
  if (parse_number_list(first_line(root + kCpuDirectory + "online"), online)) {
    cpus.node_processors = static_cast<std::uint32_t>(online.size());
    cpus.node_cores = static_cast<std::uint32_t>(cores_of(online, root).size());
  }
  add_grant(root, cpus);
  return cpus;
}

std::string to_text(const NodeCpus& cpus) {
  std::string text = "cores=" + number_list(cpus.cores) +
                     " processors=" + std::to_string(cpus.processors) +
                     " node_cores=" + std::to_string(cpus.node_cores) +
                     " node_processors=" + std::to_string(cpus.node_processors);
  if (cpus.granted_milli != 0) text += " granted_milli=" + std::to_string(cpus.granted_milli);
  if (!cpus.group.empty()) text += " group=" + cpus.group;
  return cpus.has_core_wait ? text : text + " core_wait=unknown";
}

bool parse(std::string_view text, NodeCpus& cpus) {
  cpus = {};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equal = word.find('=');
    if (equal == std::string_view::npos ||
        !set_word(word.substr(0, equal), word.substr(equal + 1), cpus))
      return false;
  }
  return true;
}

bool parse_number_list(std::string_view text, std::vector<std::uint32_t>& numbers) {
  numbers.clear();
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t dash = std::min(part.find('-'), part.size());
    const std::optional<std::uint32_t> first = number_of(part.substr(0, dash));
    const std::optional<std::uint32_t> last = dash == part.size()
                                                  ? first
                                                  : number_of(part.substr(dash + 1));
    if (!first || !last || *last < *first || (!numbers.empty() && *first <= numbers.back()))
      return false;
    if (numbers.size() + (*last - *first) >= kMaxNumbers) return false;
    for (std::uint32_t number = *first; number <= *last; ++number) numbers.push_back(number);
  }
  return true;
}

std::string number_list(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (end - i > 1) text += "-" + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace megascope
