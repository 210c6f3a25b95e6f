#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "core/record/definitions.h"
#include "exporters/otf2/event_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::otf2 {

/// A thread in the archive.
struct LocationEntry {
  std::string name;
  std::uint64_t event_count = 0;
};

/// A process in the archive. OTF2 ids: location group = world rank; location = location_id().
struct ProcessEntry {
  std::int32_t world_rank = 0;
  std::string host;
  std::vector<LocationEntry> locations;  ///< main thread first, then by LocationId
};

/// Summary of the event files of all members.
struct ArchiveContent {
  std::vector<ProcessEntry> processes;
  std::string job;
  EventSummary summary;
  std::uint64_t event_count = 0;
};

/// Returns the OTF2 id of a location. The id of a main thread equals the world rank.
inline constexpr std::uint64_t location_id(std::int32_t world_rank, std::size_t thread_index) {
  return static_cast<std::uint64_t>(thread_index) << 32 | static_cast<std::uint32_t>(world_rank);
}

/// Returns the LocationIds of the process in the order of ProcessEntry::locations.
std::vector<LocationId> archive_order(const ProcessDefinitions& process);

/// Merges all members' content on member 0, with processes in rank order. O(log members) rounds.
/// Collective.
Status merge_content(Collective& members, ArchiveContent& content);

}  // namespace megascope::otf2
