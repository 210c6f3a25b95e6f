#include "exporters/otf2/definition_file.h"

#include "exporters/common/utf8.h"
#include "exporters/otf2/vocabulary.h"

#include <algorithm>

namespace megascope::otf2 {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint32_t kMachineNode = 0;
constexpr const char* kRegionWithoutName = "(region not defined in the trace)";

}  // namespace

DefinitionFile::DefinitionFile(OTF2_GlobalDefWriter* writer, std::int32_t world_size,
                               const SharedDefinitions& definitions, const ArchiveContent& content)
    : writer_(writer), world_size_(world_size), definitions_(definitions), content_(content) {}

OTF2_ErrorCode DefinitionFile::write(const ClockFacts& clock) {
  write_clock(clock);
  write_call_sites();
  write_paradigms();
  write_attributes();
  write_regions();
  write_system_tree();
  write_processes();
  write_comms();
  write_windows();
  if (has_threads()) write_thread_teams();
  write_files();
  write_counters();
  return calls_.error();
}

void DefinitionFile::write_clock(const ClockFacts& clock) {
  const std::uint64_t realtime = clock.start_realtime_ns > 0
                                     ? static_cast<std::uint64_t>(clock.start_realtime_ns)
                                     : OTF2_UNDEFINED_TIMESTAMP;
  calls_.make(OTF2_GlobalDefWriter_WriteClockProperties, writer_, kNsPerSecond, 0, clock.end_ns,
              realtime);
}

// These strings are written first, because events refer to call sites and remote worlds by string
// id.
void DefinitionFile::write_call_sites() {
  const SharedCallSites& call_sites = definitions_.call_sites;
  for (const std::string& call_site : call_sites.texts) numbered_text(call_site);
  write_remote_worlds();
  for (std::uint32_t id = 0; id < call_sites.lines.size(); ++id) {
    calls_.make(OTF2_GlobalDefWriter_WriteSourceCodeLocation, writer_, id,
                text(call_sites.lines[id].file), call_sites.lines[id].line);
  }
}

void DefinitionFile::write_remote_worlds() {
  for (const std::string& world : definitions_.remote_worlds) numbered_text(world);
}

void DefinitionFile::write_paradigms() {
  calls_.make(OTF2_GlobalDefWriter_WriteParadigm, writer_, OTF2_PARADIGM_MPI, text("MPI"),
              OTF2_PARADIGM_CLASS_PROCESS);
  OTF2_AttributeValue name_template;
  name_template.stringRef = text("MPI communicator ${id}");
  calls_.make(OTF2_GlobalDefWriter_WriteParadigmProperty, writer_, OTF2_PARADIGM_MPI,
              OTF2_PARADIGM_PROPERTY_COMM_NAME_TEMPLATE, OTF2_TYPE_STRING, name_template);
  if (!definitions_.windows.windows.empty()) {
    name_template.stringRef = text("MPI window ${id}");
    calls_.make(OTF2_GlobalDefWriter_WriteParadigmProperty, writer_, OTF2_PARADIGM_MPI,
                OTF2_PARADIGM_PROPERTY_RMA_WIN_NAME_TEMPLATE, OTF2_TYPE_STRING, name_template);
  }
  const bool has_user = std::ranges::any_of(
      definitions_.regions,
      [](const RegionDefinition& region) { return region.paradigm == Paradigm::kUser; });
  if (has_user) {
    calls_.make(OTF2_GlobalDefWriter_WriteParadigm, writer_, OTF2_PARADIGM_USER, text("program"),
                OTF2_PARADIGM_CLASS_PROCESS);
  }
  if (!has_threads()) return;
  calls_.make(OTF2_GlobalDefWriter_WriteParadigm, writer_, OTF2_PARADIGM_PTHREAD,
              text("POSIX threads"), OTF2_PARADIGM_CLASS_THREAD_CREATE_WAIT);
}

void DefinitionFile::write_attributes() {
  calls_.make(OTF2_GlobalDefWriter_WriteAttribute, writer_,
              static_cast<std::uint32_t>(EventAttribute::kUnfinished), text("unfinished"),
              text("1: the call had not returned when the trace ended; 2: it was left by an "
                   "exception, a jump or its thread's end"),
              OTF2_TYPE_UINT8);
  calls_.make(OTF2_GlobalDefWriter_WriteAttribute, writer_,
              static_cast<std::uint32_t>(EventAttribute::kMpiError), text("mpi_error"),
              text("the MPI error code that the call returned"), OTF2_TYPE_INT64);
  calls_.make(OTF2_GlobalDefWriter_WriteAttribute, writer_,
              static_cast<std::uint32_t>(EventAttribute::kCallCount), text("call_count"),
              text("number of consecutive unsuccessful calls that this call represents"),
              OTF2_TYPE_UINT64);
  calls_.make(OTF2_GlobalDefWriter_WriteAttribute, writer_,
              static_cast<std::uint32_t>(EventAttribute::kRemoteWorld), text("remote_world"),
              text("the communicator of the call, which connects to another MPI_COMM_WORLD"),
              OTF2_TYPE_STRING);
  write_value_attributes();
  const bool has_call_sites = !definitions_.call_sites.texts.empty();
  if (has_call_sites || !definitions_.files.handles.empty()) {  // readers expect ids without gaps
    calls_.make(OTF2_GlobalDefWriter_WriteAttribute, writer_,
                static_cast<std::uint32_t>(EventAttribute::kFileOffset), text("file_offset"),
                text("the explicit offset, in elementary types of the file's view"),
                OTF2_TYPE_UINT64);
  }
  if (!has_call_sites) return;
  calls_.make(OTF2_GlobalDefWriter_WriteAttribute, writer_,
              static_cast<std::uint32_t>(EventAttribute::kCallSite), text("call_site"),
              text("the call site in the program"), OTF2_TYPE_STRING);
  calls_.make(OTF2_GlobalDefWriter_WriteAttribute,  // the name that OTF2 requires for it
              writer_, static_cast<std::uint32_t>(EventAttribute::kSourceCodeLocation),
              text("SOURCE_CODE_LOCATION"), text("the source line of the call site"),
              OTF2_TYPE_SOURCE_CODE_LOCATION);
}

void DefinitionFile::write_value_attributes() {
  const auto write = [&](EventAttribute attribute, std::string_view name, const char* semantics,
                         OTF2_Type type) {
    calls_.make(OTF2_GlobalDefWriter_WriteAttribute, writer_, static_cast<std::uint32_t>(attribute),
                text(std::string(name)), text(semantics), type);
  };
  write(EventAttribute::kComm, "comm", "the communicator of the other attributes", OTF2_TYPE_COMM);
  write(EventAttribute::kFoundSource, "found_source", "rank in comm of the message that was found",
        OTF2_TYPE_INT64);
  write(EventAttribute::kFoundTag, "found_tag", "tag of the message that was found",
        OTF2_TYPE_INT64);
  write(EventAttribute::kFoundBytes, "found_bytes", "bytes of the message that was found",
        OTF2_TYPE_UINT64);
  write(EventAttribute::kRangeStart, "range_start",
        "the number in the process of a range that starts here", OTF2_TYPE_UINT64);
  write(EventAttribute::kRangeStop, "range_stop", "the number of a range that is stopped here",
        OTF2_TYPE_UINT64);
  write(EventAttribute::kUncertain, "entry_uncertain_ns",
        "the call was entered within so many ns after this event", OTF2_TYPE_UINT64);
  for (std::uint32_t i = 0; i < kValueNameCount; ++i) {
    write(static_cast<EventAttribute>(static_cast<std::uint32_t>(EventAttribute::kFirstValue) + i),
          kValueNames[i], "input or output value of the call",
          is_real(static_cast<ValueName>(i)) ? OTF2_TYPE_DOUBLE : OTF2_TYPE_INT64);
  }
}

// One metric class for each counter, because their values are set one at a time.
void DefinitionFile::write_counters() {
  for (std::uint32_t id = 0; id < definitions_.counters.size(); ++id) {
    const SharedCounter& counter = definitions_.counters[id];
    calls_.make(OTF2_GlobalDefWriter_WriteMetricMember, writer_, id, text(counter.name), text(""),
                OTF2_METRIC_TYPE_USER, OTF2_METRIC_ABSOLUTE_LAST, OTF2_TYPE_DOUBLE,
                OTF2_BASE_DECIMAL, 0, text(counter.unit));
    calls_.make(OTF2_GlobalDefWriter_WriteMetricClass, writer_, id, 1, &id,
                OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_CPU);
  }
}

void DefinitionFile::write_regions() {
  std::uint32_t id = 0;
  for (const RegionDefinition& region : definitions_.regions) write_region(id++, region);
  if (!content_.summary.has_undefined_region) return;
  RegionDefinition undefined;
  undefined.name = kRegionWithoutName;
  write_region(id, undefined);
}

void DefinitionFile::write_region(std::uint32_t id, const RegionDefinition& region) {
  const std::uint32_t name = text(region.name);
  calls_.make(OTF2_GlobalDefWriter_WriteRegion, writer_, id, name, name, text(region.group),
              otf2_role(region.role), otf2_paradigm(region.paradigm), OTF2_REGION_FLAG_NONE,
              text(""), 0, 0);
}

void DefinitionFile::write_system_tree() {
  const std::string machine = content_.job.empty() ? "MPI job" : "MPI job " + content_.job;
  write_node(machine, "machine", OTF2_UNDEFINED_SYSTEM_TREE_NODE, OTF2_SYSTEM_TREE_DOMAIN_MACHINE);
  for (const ProcessEntry& process : content_.processes) {
    if (nodes_.contains(process.host)) continue;
    const std::string name = process.host.empty() ? "(unknown node)" : process.host;
    nodes_[process.host] = write_node(name, "node", kMachineNode,
                                      OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
  }
}

std::uint32_t DefinitionFile::write_node(const std::string& name, const char* class_name,
                                         std::uint32_t parent, OTF2_SystemTreeDomain domain) {
  const std::uint32_t id = parent == OTF2_UNDEFINED_SYSTEM_TREE_NODE
                               ? kMachineNode
                               : static_cast<std::uint32_t>(nodes_.size()) + 1;
  calls_.make(OTF2_GlobalDefWriter_WriteSystemTreeNode, writer_, id, text(name), text(class_name),
              parent);
  calls_.make(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain, writer_, id, domain);
  return id;
}

void DefinitionFile::write_processes() {
  auto next = content_.processes.begin();
  for (std::int32_t rank = 0; rank < world_size_; ++rank) {
    const bool is_here = next != content_.processes.end() && next->world_rank == rank;
    write_process(rank, is_here ? &*next++ : nullptr);
  }
}

void DefinitionFile::write_process(std::int32_t world_rank, const ProcessEntry* entry) {
  const auto group = static_cast<std::uint32_t>(world_rank);
  const std::string name = "Rank " + std::to_string(world_rank) +
                           (entry == nullptr ? " (no trace)" : "");
  calls_.make(OTF2_GlobalDefWriter_WriteLocationGroup, writer_, group, text(name),
              OTF2_LOCATION_GROUP_TYPE_PROCESS,
              entry == nullptr ? kMachineNode : nodes_.at(entry->host),
              OTF2_UNDEFINED_LOCATION_GROUP);
  const std::vector<LocationEntry> none = {{.name = "main thread", .event_count = 0}};
  const std::vector<LocationEntry>& locations = entry == nullptr || entry->locations.empty()
                                                    ? none
                                                    : entry->locations;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    calls_.make(OTF2_GlobalDefWriter_WriteLocation, writer_, location_id(world_rank, i),
                text(locations[i].name), OTF2_LOCATION_TYPE_CPU_THREAD, locations[i].event_count,
                group);
  }
}

DefinitionFile::Members DefinitionFile::comm_locations() const {
  Members members;
  for (std::int32_t rank = 0; rank < world_size_; ++rank) members.push_back(location_id(rank, 0));
  return members;
}

void DefinitionFile::write_comms() {
  group(OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, comm_locations());
  for (const SharedGroup& members : definitions_.windows.groups) comm_group(members.members);
  for (const SharedComm& comm : definitions_.comms) {
    const auto id = static_cast<std::uint32_t>(comm_ids_.size());
    write_comm(id, comm);
    comm_ids_.emplace(comm.key, id);
  }
}

void DefinitionFile::write_comm(std::uint32_t id, const SharedComm& comm) {
  std::uint32_t parent = OTF2_UNDEFINED_COMM;
  const auto found = comm_ids_.find(comm.parent_key);
  if (found != comm_ids_.end()) parent = found->second;
  const auto& with_events = content_.summary.comms_with_events;
  const OTF2_CommFlag flags = id < with_events.size() && with_events[id]
                                  ? OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS
                                  : OTF2_COMM_FLAG_NONE;
  const std::uint32_t name = text(comm.name);
  if (comm.kind == CommKind::kInter && definitions_.has_plain_comms) {
    named_group(comm.name + ": group A", comm.members);
    named_group(comm.name + ": group B", comm.remote_members);
    std::vector<RankRun> both = comm.members;
    both.insert(both.end(), comm.remote_members.begin(), comm.remote_members.end());
    calls_.make(OTF2_GlobalDefWriter_WriteComm, writer_, id, name, comm_group(both), parent, flags);
    return;
  }
  if (comm.kind == CommKind::kInter) {
    const std::uint32_t group_a = comm_group(comm.members);
    const std::uint32_t group_b = comm_group(comm.remote_members);
    calls_.make(OTF2_GlobalDefWriter_WriteInterComm, writer_, id, name, group_a, group_b, parent,
                flags);
    return;
  }
  const std::uint32_t ranks = comm.kind == CommKind::kSelf
                                  ? group(OTF2_GROUP_TYPE_COMM_SELF, OTF2_PARADIGM_MPI, {})
                                  : comm_group(comm.members);
  calls_.make(OTF2_GlobalDefWriter_WriteComm, writer_, id, name, ranks, parent, flags);
}

void DefinitionFile::write_windows() {
  const auto& with_events = content_.summary.windows_with_events;
  std::uint32_t id = 0;
  for (const SharedWindow& window : definitions_.windows.windows) {
    const bool has_events = id < with_events.size() && with_events[id];
    const auto comm = comm_ids_.find(window.comm_key);
    calls_.make(OTF2_GlobalDefWriter_WriteRmaWin, writer_, id++, text(window.name),
                comm == comm_ids_.end() ? OTF2_UNDEFINED_COMM : comm->second,
                has_events ? OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS : OTF2_RMA_WIN_FLAG_NONE);
  }
}

std::uint32_t DefinitionFile::comm_group(const std::vector<RankRun>& ranks) {
  Members members;
  for (const std::int32_t rank : expand(ranks)) members.push_back(static_cast<std::uint64_t>(rank));
  return group(OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, members);
}

void DefinitionFile::named_group(const std::string& name, const std::vector<RankRun>& ranks) {
  Members members;
  for (const std::int32_t rank : expand(ranks)) members.push_back(static_cast<std::uint64_t>(rank));
  const std::uint32_t name_id = text(name);
  calls_.make(OTF2_GlobalDefWriter_WriteGroup, writer_, group_count_++, name_id,
              OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
              static_cast<std::uint32_t>(members.size()), members.data());
}

// The threads of a process form a contingent, which ThreadBegin and ThreadEnd refer to.
void DefinitionFile::write_thread_teams() {
  Members threads;
  for (const ProcessEntry& process : content_.processes) {
    for (std::size_t i = 0; i < process.locations.size(); ++i)
      threads.push_back(location_id(process.world_rank, i));
  }
  group(OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_PTHREAD, threads);
  std::uint64_t first = 0;
  for (const ProcessEntry& process : content_.processes) {
    const std::size_t count = process.locations.size();
    if (count > 1) {
      Members members(count);
      for (std::size_t i = 0; i < count; ++i) members[i] = first + i;
      const std::uint32_t team = group(OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_PTHREAD, members);
      const std::string name = "threads of rank " + std::to_string(process.world_rank);
      calls_.make(
          OTF2_GlobalDefWriter_WriteComm, writer_,
          team_comm_id(definitions_.comms.size(), definitions_.threaded_ranks, process.world_rank),
          text(name), team, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    }
    first += count;
  }
}

void DefinitionFile::write_files() {
  const SharedFiles& all = definitions_.files;
  if (all.files.empty()) return;
  calls_.make(OTF2_GlobalDefWriter_WriteIoParadigm, writer_, kMpiIo, text("MPI-IO"), text("MPI-IO"),
              OTF2_IO_PARADIGM_CLASS_PARALLEL, OTF2_IO_PARADIGM_FLAG_NONE, 0, nullptr, nullptr,
              nullptr);
  std::unordered_map<std::uint64_t, std::uint32_t> file_ids;
  for (const SharedFile& file : all.files) {
    const auto id = static_cast<std::uint32_t>(file_ids.size());
    calls_.make(OTF2_GlobalDefWriter_WriteIoRegularFile, writer_, id, text(file.name),
                kMachineNode);
    file_ids.emplace(file.key, id);
  }
  for (std::uint32_t id = 0; id < all.handles.size(); ++id) {
    const SharedHandle& handle = all.handles[id];
    const std::uint32_t file = file_ids.contains(handle.file_key) ? file_ids.at(handle.file_key)
                                                                  : OTF2_UNDEFINED_IO_FILE;
    write_handle(id, handle, file);
  }
}

void DefinitionFile::write_handle(std::uint32_t id, const SharedHandle& handle,
                                  std::uint32_t file) {
  const auto comm = comm_ids_.find(handle.comm_key);
  const auto& without_opening = content_.summary.handles_without_opening;
  const bool is_pre_created = id < without_opening.size() && without_opening[id];
  calls_.make(OTF2_GlobalDefWriter_WriteIoHandle, writer_, id, text(""), file, kMpiIo,
              is_pre_created ? OTF2_IO_HANDLE_FLAG_PRE_CREATED : OTF2_IO_HANDLE_FLAG_NONE,
              comm != comm_ids_.end() ? comm->second : OTF2_UNDEFINED_COMM,
              OTF2_UNDEFINED_IO_HANDLE);
  if (!is_pre_created) return;
  calls_.make(OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState, writer_, id,
              otf2_access_mode(handle.mode), otf2_status_flags(handle.mode));
}

bool DefinitionFile::has_threads() const {
  return std::ranges::any_of(
      content_.processes, [](const ProcessEntry& process) { return process.locations.size() > 1; });
}

std::uint32_t DefinitionFile::text(const std::string& text) {
  const auto found = texts_.find(text);
  return found != texts_.end() ? found->second : numbered_text(text);
}

std::uint32_t DefinitionFile::numbered_text(const std::string& text) {
  const std::uint32_t id = text_count_++;
  texts_.emplace(text, id);
  calls_.make(OTF2_GlobalDefWriter_WriteString, writer_, id, timeline::valid_utf8(text).c_str());
  return id;
}

std::uint32_t DefinitionFile::group(OTF2_GroupType type, OTF2_Paradigm paradigm,
                                    const Members& members) {
  const auto [found, is_new] = groups_.emplace(std::pair(type << 8 | paradigm, members),
                                               group_count_);
  if (is_new) {
    calls_.make(OTF2_GlobalDefWriter_WriteGroup, writer_, group_count_++, text(""), type, paradigm,
                OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(members.size()), members.data());
  }
  return found->second;
}

}  // namespace megascope::otf2
