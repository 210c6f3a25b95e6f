#pragma once

#include "core/record/definitions.h"
#include "exporters/otf2/byte_stream.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

/// Counters of programs, unified over the processes by their names: part of shared_definitions.h.
/// Positions are OTF2's ids of MetricMember and MetricClass.
namespace megascope::otf2 {

struct SharedCounter {
  std::string name;
  std::string unit;  ///< of the first process that has it
};

std::vector<SharedCounter> collect_counters(const ProcessDefinitions& process);
/// Adds what `mine` lacks. O(both).
void merge_counters(std::vector<SharedCounter>& mine, std::vector<SharedCounter> theirs);
void put_counters(ByteWriter& to, const std::vector<SharedCounter>& counters);
std::vector<SharedCounter> get_counters(ByteReader& from);

using CounterIds = std::unordered_map<std::string, std::uint32_t>;
CounterIds counter_ids(const std::vector<SharedCounter>& counters);

/// Ids of one process's counters, as its points name them.
class ProcessCounters {
 public:
  ProcessCounters() = default;
  ProcessCounters(const ProcessDefinitions& process, const CounterIds& ids);

  static constexpr std::uint32_t kUndefined = 0xFFFFFFFF;
  /// kUndefined where the trace does not define it.
  std::uint32_t counter(CounterId id) const { return id < ids_.size() ? ids_[id] : kUndefined; }

 private:
  std::vector<std::uint32_t> ids_;  ///< by CounterId
};

}  // namespace megascope::otf2
