#include "exporters/otf2/archive_content.h"

#include "exporters/otf2/byte_stream.h"

#include <algorithm>
#include <iterator>

namespace megascope::otf2 {
namespace {

Collective::Bytes encode(const ArchiveContent& content) {
  ByteWriter to;
  to.put_u64(content.processes.size());
  for (const ProcessEntry& process : content.processes) {
    to.put_i32(process.world_rank);
    to.put_text(process.host);
    to.put_u64(process.locations.size());
    for (const LocationEntry& location : process.locations) {
      to.put_text(location.name);
      to.put_u64(location.event_count);
    }
  }
  to.put_text(content.job);
  to.put_u64(content.summary.last_time_ns);
  to.put_u8(content.summary.has_undefined_region ? 1 : 0);
  to.put_u64(content.summary.comms_with_events.size());
  for (const bool has_events : content.summary.comms_with_events) to.put_u8(has_events ? 1 : 0);
  to.put_u64(content.summary.handles_without_opening.size());
  for (const bool is_used : content.summary.handles_without_opening) to.put_u8(is_used ? 1 : 0);
  to.put_u64(content.summary.windows_with_events.size());
  for (const bool has_events : content.summary.windows_with_events) to.put_u8(has_events ? 1 : 0);
  to.put_u64(content.event_count);
  return to.take();
}

Status decode(std::span<const std::byte> bytes, ArchiveContent& content) {
  ByteReader from(bytes);
  content.processes.resize(from.count());
  for (ProcessEntry& process : content.processes) {
    process.world_rank = from.i32();
    process.host = from.text();
    process.locations.resize(from.count());
    for (LocationEntry& location : process.locations) {
      location.name = from.text();
      location.event_count = from.u64();
    }
  }
  content.job = from.text();
  content.summary.last_time_ns = from.u64();
  content.summary.has_undefined_region = from.u8() != 0;
  content.summary.comms_with_events.resize(from.count());
  for (std::size_t i = 0; i < content.summary.comms_with_events.size(); ++i) {
    content.summary.comms_with_events[i] = from.u8() != 0;
  }
  content.summary.handles_without_opening.resize(from.count());
  for (std::size_t i = 0; i < content.summary.handles_without_opening.size(); ++i) {
    content.summary.handles_without_opening[i] = from.u8() != 0;
  }
  content.summary.windows_with_events.resize(from.count());
  for (std::size_t i = 0; i < content.summary.windows_with_events.size(); ++i) {
    content.summary.windows_with_events[i] = from.u8() != 0;
  }
  content.event_count = from.u64();
  return from.has_failed() ? Status::error("the list of locations of a member is malformed")
                           : Status::ok();
}

void merge(ArchiveContent& mine, ArchiveContent theirs) {
  std::move(theirs.processes.begin(), theirs.processes.end(), std::back_inserter(mine.processes));
  if (mine.job.empty()) mine.job = std::move(theirs.job);
  mine.summary.last_time_ns = std::max(mine.summary.last_time_ns, theirs.summary.last_time_ns);
  mine.summary.has_undefined_region |= theirs.summary.has_undefined_region;
  for (std::size_t i = 0; i < theirs.summary.comms_with_events.size(); ++i) {
    if (theirs.summary.comms_with_events[i]) mine.summary.note_comm(static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < theirs.summary.handles_without_opening.size(); ++i) {
    if (theirs.summary.handles_without_opening[i])
      mine.summary.note_handle(static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < theirs.summary.windows_with_events.size(); ++i) {
    if (theirs.summary.windows_with_events[i])
      mine.summary.note_window(static_cast<std::uint32_t>(i));
  }
  mine.event_count += theirs.event_count;
}

}  // namespace

std::vector<LocationId> archive_order(const ProcessDefinitions& process) {
  std::vector<LocationId> order;
  for (const LocationDefinition& location : process.locations) order.push_back(location.id);
  const auto is_main = [&process](LocationId id) { return process.locations[id].is_main; };
  std::stable_partition(order.begin(), order.end(), is_main);
  return order;
}

Status merge_content(Collective& members, ArchiveContent& content) {
  Collective::Bytes bytes = encode(content);
  Status local;
  Status status = members.merge_up(
      bytes, [&local](Collective::Bytes& mine, std::span<const std::byte> theirs) {
        ArchiveContent merged;
        ArchiveContent others;
        local.update(decode(mine, merged));
        local.update(decode(theirs, others));
        merge(merged, std::move(others));
        mine = encode(merged);
      });
  if (status.is_ok() && members.rank() == 0) {
    content = {};
    local.update(decode(bytes, content));
    std::ranges::sort(content.processes, {}, &ProcessEntry::world_rank);
  }
  status.update(std::move(local));
  return status;
}

}  // namespace megascope::otf2
