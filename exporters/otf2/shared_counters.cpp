#include "exporters/otf2/shared_counters.h"

#include <unordered_set>
#include <utility>

namespace megascope::otf2 {

std::vector<SharedCounter> collect_counters(const ProcessDefinitions& process) {
  std::vector<SharedCounter> counters;
  for (const CounterDefinition& counter : process.counters)
    counters.push_back({counter.name, counter.unit});
  return counters;
}

void merge_counters(std::vector<SharedCounter>& mine, std::vector<SharedCounter> theirs) {
  std::unordered_set<std::string> known;
  for (const SharedCounter& counter : mine) known.insert(counter.name);
  for (SharedCounter& counter : theirs) {
    if (known.insert(counter.name).second) mine.push_back(std::move(counter));
  }
}

void put_counters(ByteWriter& to, const std::vector<SharedCounter>& counters) {
  to.put_u64(counters.size());
  for (const SharedCounter& counter : counters) {
    to.put_text(counter.name);
    to.put_text(counter.unit);
  }
}

std::vector<SharedCounter> get_counters(ByteReader& from) {
  std::vector<SharedCounter> counters(from.count());
  for (SharedCounter& counter : counters) {
    counter.name = from.text();
    counter.unit = from.text();
  }
  return counters;
}

CounterIds counter_ids(const std::vector<SharedCounter>& counters) {
  CounterIds ids;
  for (const SharedCounter& counter : counters)
    ids.emplace(counter.name, static_cast<std::uint32_t>(ids.size()));
  return ids;
}

ProcessCounters::ProcessCounters(const ProcessDefinitions& process, const CounterIds& ids) {
  for (const CounterDefinition& counter : process.counters) {
    const auto found = ids.find(counter.name);
    ids_.push_back(found == ids.end() ? kUndefined : found->second);
  }
}

}  // namespace megascope::otf2
