#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "core/record/definitions.h"
#include "exporters/otf2/event_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::otf2 {

/// A thread as the archive defines it.
struct LocationEntry {
  std::string name;
  std::uint64_t event_count = 0;
};

/// A process as the archive defines it. OTF2 ids: location group = world rank, location = see
/// location_id().
struct ProcessEntry {
  std::int32_t world_rank = 0;
  std::string host;
  std::vector<LocationEntry> locations;  ///< the main thread first, the others by LocationId
};

/// What all members' event files hold together.
struct ArchiveContent {
  std::vector<ProcessEntry> processes;
  std::string job;
  EventSummary summary;
  std::uint64_t event_count = 0;
};

/// OTF2's id of a location: main threads have their world rank, so that they come first and people
/// find them.
inline constexpr std::uint64_t location_id(std::int32_t world_rank, std::size_t thread_index) {
  return static_cast<std::uint64_t>(thread_index) << 32 | static_cast<std::uint32_t>(world_rank);
}

/// The process's LocationIds in the order in which the archive has them.
std::vector<LocationId> archive_order(const ProcessDefinitions& process);

/// Brings all members' content to member 0, processes by rank. O(log members) rounds. Collective.
Status merge_content(Collective& members, ArchiveContent& content);

}  // namespace megascope::otf2
