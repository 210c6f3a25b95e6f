#pragma once

#include "core/record/definitions.h"
#include "exporters/otf2/byte_stream.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

/// User counters, unified over the processes (see shared_definitions.h): counters of equal name
/// become one definition. The index of a counter is its OTF2 id, both of MetricMember and of
/// MetricClass.
namespace megascope::otf2 {

struct SharedCounter {
  std::string name;
  std::string unit;  ///< unit in the first process that defines the counter
};

std::vector<SharedCounter> collect_counters(const ProcessDefinitions& process);
/// Appends the entries that `mine` lacks. O(both).
void merge_counters(std::vector<SharedCounter>& mine, std::vector<SharedCounter> theirs);
void put_counters(ByteWriter& to, const std::vector<SharedCounter>& counters);
std::vector<SharedCounter> get_counters(ByteReader& from);

using CounterIds = std::unordered_map<std::string, std::uint32_t>;
CounterIds counter_ids(const std::vector<SharedCounter>& counters);

/// OTF2 ids of one process's counters.
class ProcessCounters {
 public:
  ProcessCounters() = default;
  ProcessCounters(const ProcessDefinitions& process, const CounterIds& ids);

  static constexpr std::uint32_t kUndefined = 0xFFFFFFFF;
  /// Returns the id of a counter; kUndefined if the trace does not define it.
  std::uint32_t counter(CounterId id) const { return id < ids_.size() ? ids_[id] : kUndefined; }

 private:
  std::vector<std::uint32_t> ids_;  ///< by CounterId
};

}  // namespace megascope::otf2
