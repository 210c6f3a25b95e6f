#pragma once

#include "exporters/otf2/archive_content.h"
#include "exporters/otf2/calls.h"
#include "exporters/otf2/shared_definitions.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace megascope::otf2 {

/// The time range of the trace.
struct ClockFacts {
  std::uint64_t end_ns = 0;            ///< no event is later
  std::int64_t start_realtime_ns = 0;  ///< wall-clock time of ns 0 of the run; 0: unknown
};

/// Returns the OTF2 id of the communicator that represents the threads of a process. These ids
/// follow the ids of MPI communicators, without gaps. threaded_ranks: processes with several
/// threads, ascending.
inline std::uint32_t team_comm_id(std::size_t mpi_comm_count,
                                  const std::vector<RankRun>& threaded_ranks,
                                  std::int32_t world_rank) {
  const std::vector<std::int32_t> ranks = expand(threaded_ranks);
  const auto call_site = std::lower_bound(ranks.begin(), ranks.end(), world_rank) - ranks.begin();
  return static_cast<std::uint32_t>(mpi_comm_count) + static_cast<std::uint32_t>(call_site);
}

/// Writes the global definitions of an archive. Writes only definitions that others refer to, and
/// the groups of named_group(). Each is written once, before the first reference to it. Ids are
/// ascending. Ranks without a trace get a location group and an empty main thread, so that ranks of
/// MPI_COMM_WORLD equal positions in the group of communication locations, as OTF2 requires.
class DefinitionFile {
 public:
  /// writer: open; closed by the caller. All arguments must outlive this object.
  DefinitionFile(OTF2_GlobalDefWriter* writer, std::int32_t world_size,
                 const SharedDefinitions& definitions, const ArchiveContent& content);

  /// Writes all definitions. Call once. Returns OTF2_SUCCESS or the first error, after which
  /// nothing is written.
  OTF2_ErrorCode write(const ClockFacts& clock);

 private:
  using Members = std::vector<std::uint64_t>;

  void write_clock(const ClockFacts& clock);
  void write_call_sites();
  void write_remote_worlds();
  void write_paradigms();
  void write_attributes();
  void write_value_attributes();
  void write_counters();
  void write_regions();
  void write_region(std::uint32_t id, const RegionDefinition& region);
  void write_system_tree();
  std::uint32_t write_node(const std::string& name, const char* class_name, std::uint32_t parent,
                           OTF2_SystemTreeDomain domain);
  void write_processes();
  void write_process(std::int32_t world_rank, const ProcessEntry* entry);
  void write_comms();
  void write_comm(std::uint32_t id, const SharedComm& comm);
  void write_windows();
  void write_thread_teams();
  void write_files();
  void write_handle(std::uint32_t id, const SharedHandle& handle, std::uint32_t file);

  std::uint32_t text(const std::string& text);
  /// Writes a string with the next id, even if an equal string exists.
  std::uint32_t numbered_text(const std::string& text);
  std::uint32_t group(OTF2_GroupType type, OTF2_Paradigm paradigm, const Members& members);
  std::uint32_t comm_group(const std::vector<RankRun>& ranks);
  /// Writes a group that no definition refers to, for scripts that find it by name.
  void named_group(const std::string& name, const std::vector<RankRun>& ranks);
  Members comm_locations() const;
  bool has_threads() const;

  OTF2_GlobalDefWriter* writer_;
  Calls calls_;
  std::int32_t world_size_;
  const SharedDefinitions& definitions_;
  const ArchiveContent& content_;
  std::map<std::string, std::uint32_t> texts_;
  std::uint32_t text_count_ = 0;
  std::map<std::string, std::uint32_t> nodes_;  ///< by host
  /// By SharedComm::key; written communicators only.
  std::unordered_map<std::uint64_t, std::uint32_t> comm_ids_;
  std::map<std::pair<int, Members>, std::uint32_t> groups_;  ///< by type, paradigm and members
  std::uint32_t group_count_ = 0;
};

}  // namespace megascope::otf2
