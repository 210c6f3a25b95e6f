#include "core/record/definitions.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace megascope {

const RegionDefinition* ProcessDefinitions::region(RegionId id) const {
  const auto found = std::lower_bound(
      regions.begin(), regions.end(), id,
      [](const RegionDefinition& region, RegionId wanted) { return region.id < wanted; });
  return found != regions.end() && found->id == id ? &*found : nullptr;
}

namespace {

template <class Number>
bool take_number(std::string_view& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}
bool take_space(std::string_view& text) {
  if (!text.starts_with(' ')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string to_text(const ParallelIndex& parallel) {
  return parallel.name + " " + std::to_string(parallel.index) + " " + std::to_string(parallel.size);
}

bool parse(std::string_view text, ParallelIndex& parallel) {
  const std::size_t end = std::min(text.find(' '), text.size());
  parallel.name = text.substr(0, end);
  text.remove_prefix(end);
  const bool is_read = take_space(text) && take_number(text, parallel.index) && take_space(text) &&
                       take_number(text, parallel.size);
  return is_read && text.empty() && !parallel.name.empty() && parallel.index >= 0 &&
         parallel.index < parallel.size;
}

void set_parallel(std::vector<ParallelIndex>& all, ParallelIndex parallel) {
  const auto same = std::ranges::find(all, parallel.name, &ParallelIndex::name);
  if (same == all.end())
    all.push_back(std::move(parallel));
  else
    *same = std::move(parallel);
}

std::vector<std::int32_t> expand(const std::vector<RankRun>& runs) {
  std::vector<std::int32_t> ranks;
  ranks.reserve(static_cast<std::size_t>(rank_count(runs)));
  for (const RankRun& run : runs) {
    for (std::int32_t i = 0; i < run.count; ++i) ranks.push_back(run.first + i * run.stride);
  }
  return ranks;
}

std::vector<RankRun> compress(const std::vector<std::int32_t>& ranks) {
  std::vector<RankRun> runs;
  for (const std::int32_t rank : ranks) {
    if (!runs.empty()) {
      RankRun& last = runs.back();
      if (last.count == 1) last.stride = rank - last.first;
      if (rank == last.first + last.count * last.stride) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({.first = rank, .stride = 1, .count = 1});
  }
  for (RankRun& run : runs) {
    if (run.count == 1) run.stride = 1;
  }
  return runs;
}

std::int64_t rank_count(const std::vector<RankRun>& runs) {
  std::int64_t count = 0;
  for (const RankRun& run : runs) count += run.count;
  return count;
}

std::string place_of(const CallSiteDefinition& site) {
  const auto plain = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  char offset[32];
  std::snprintf(offset, sizeof offset, "%s0x%llx", site.module.empty() ? "" : "+",
                static_cast<unsigned long long>(site.offset));
  const std::string place = site.line != 0 ? plain(site.file) + ":" + std::to_string(site.line)
                                           : plain(site.module) + offset;
  return site.function.empty() ? place : site.function + " (" + place + ")";
}

const std::string& launcher_fact(const std::vector<LauncherFact>& facts, std::string_view name) {
  static const std::string kNone;
  for (const LauncherFact& fact : facts) {
    if (fact.name == name) return fact.value;
  }
  return kNone;
}

bool has_sure_name(const ProcessDefinitions& process, const CommDefinition& comm) {
  const CommDefinition* at = &comm;
  for (std::size_t steps = 0; at != nullptr && steps <= process.comms.size(); ++steps) {
    if (at->kind == CommKind::kWorld || at->kind == CommKind::kSelf) return true;
    if (at->parent == kNoComm) return false;
    at = process.comm(at->parent);
  }
  return false;
}

}  // namespace megascope
