#include "exporters/otf2/export.h"

#include "exporters/common/joint_file.h"
#include "exporters/otf2/archive.h"
#include "exporters/otf2/archive_content.h"
#include "exporters/otf2/archive_directory.h"
#include "exporters/otf2/definition_file.h"
#include "exporters/otf2/event_file.h"
#include "exporters/otf2/shared_definitions.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>

namespace megascope::otf2 {
namespace {

namespace fs = std::filesystem;

// Limits of libotf2 for chunks. A definition must fit into one; the largest one lists all
// locations.
constexpr std::uint64_t kMinChunkBytes = 256 * 1024;
constexpr std::uint64_t kMaxChunkBytes = 16 * 1024 * 1024;
constexpr std::uint64_t kBytesPerMember = 16;

/// One export, on one member. The steps are collective: all members execute the same ones, and none
/// continues after an error on any.
class Export {
 public:
  Export(const ExportJob& job)
      : job_(job),
        source_(*job.source),
        members_(*job.collective),
        directory_(job.directory, kArchiveName, members_) {}

  Status run(ExportResult& result) {
    Status status = directory_.create();
    if (!status.is_ok()) return status;
    status = agree(unify_definitions(source_, members_, definitions_, ids_, job_.has_plain_comms));
    if (status.is_ok()) status = write_archive();
    if (status.is_ok()) status = describe(result);
    if (status.is_ok()) status = agree(directory_.publish());
    if (!status.is_ok()) directory_.release_open_files();
    directory_.remove();
    return status;
  }

 private:
  /// Returns the first member's error on all members.
  Status agree(Status mine) { return timeline::agree(members_, std::move(mine)); }
  std::uint64_t definition_chunk_bytes() const;
  Status write_archive();
  Status write_events(Archive& archive);
  Status write_process(Archive& archive, std::int32_t world_rank);
  Status write_location(Archive& archive, ProcessState& state, std::int32_t world_rank,
                        std::size_t thread_index, LocationId id, LocationEntry& entry);
  Status write_empty_location(Archive& archive, std::int32_t world_rank);
  Status write_local_definitions(Archive& archive);
  std::vector<std::int32_t> my_ranks_without_trace() const;
  Status write_global_definitions(Archive& archive);
  Status describe(ExportResult& result);
  std::uint64_t file_bytes() const;

  const ExportJob& job_;
  const RecordSource& source_;
  Collective& members_;
  ArchiveDirectory directory_;
  SharedDefinitions definitions_;  ///< complete on member 0
  IdTable ids_;
  ArchiveContent content_;
};

std::uint64_t Export::definition_chunk_bytes() const {
  const std::uint64_t largest = kBytesPerMember * static_cast<std::uint64_t>(source_.world_size());
  return std::clamp(largest, kMinChunkBytes, kMaxChunkBytes);
}

// Members agree after each step: after an error on one of them none may continue (see Archive).
Status Export::write_archive() {
  Archive archive;
  const std::function<Status()> steps[] = {
      [&] {
        return archive.open(directory_.path(), directory_.shown_path(), definition_chunk_bytes(),
                            members_);
      },
      [&] { return archive.open_event_files(); },
      [&] { return write_events(archive); },
      [&] { return archive.close_event_files(); },
      [&] { return archive.open_definition_files(); },
      [&] { return write_local_definitions(archive); },
      [&] { return archive.close_definition_files(); },
      [&] { return merge_content(members_, content_); },
      [&] { return members_.rank() == 0 ? write_global_definitions(archive) : Status::ok(); },
      [&] { return archive.close(); },
  };
  for (const auto& step : steps) {
    Status status = agree(step());
    if (!status.is_ok()) return status;
  }
  return Status::ok();
}

Status Export::write_events(Archive& archive) {
  content_.summary.last_time_ns = source_.end_ns();
  for (const std::int32_t rank : source_.world_ranks()) {
    Status status = write_process(archive, rank);
    if (!status.is_ok()) return status;
  }
  for (const std::int32_t rank : my_ranks_without_trace()) {
    Status status = write_empty_location(archive, rank);
    if (!status.is_ok()) return status;
  }
  return Status::ok();
}

// Ranks without a trace are locations too, and readers expect a file for each. Members share this
// work.
std::vector<std::int32_t> Export::my_ranks_without_trace() const {
  std::vector<bool> is_here(static_cast<std::size_t>(source_.world_size()));
  for (const std::int32_t rank : expand(ids_.world_ranks))
    is_here[static_cast<std::size_t>(rank)] = true;
  std::vector<std::int32_t> mine;
  int turn = 0;
  for (std::size_t rank = 0; rank < is_here.size(); ++rank) {
    if (!is_here[rank] && turn++ % members_.size() == members_.rank())
      mine.push_back(static_cast<std::int32_t>(rank));
  }
  return mine;
}

Status Export::write_empty_location(Archive& archive, std::int32_t world_rank) {
  OTF2_EvtWriter* writer = nullptr;
  std::uint64_t event_count = 0;
  Status status = archive.open_event_writer(location_id(world_rank, 0), writer);
  return status.is_ok() ? archive.close_event_writer(writer, event_count) : status;
}

Status Export::write_process(Archive& archive, std::int32_t world_rank) {
  const ProcessDefinitions& process = source_.process(world_rank);
  if (content_.job.empty()) content_.job = process.info.job;
  ProcessEntry& entry = content_.processes.emplace_back();
  entry.world_rank = world_rank;
  entry.host = process.info.host;
  const std::vector<LocationId> order = archive_order(process);
  entry.locations.resize(order.size());
  ProcessState state(source_, world_rank, ids_);
  for (std::size_t i = 0; i < order.size(); ++i) {
    Status status = write_location(archive, state, world_rank, i, order[i], entry.locations[i]);
    if (!status.is_ok()) return status;
    content_.event_count += entry.locations[i].event_count;
  }
  for (const std::uint32_t handle : state.io.handles_without_opening())
    content_.summary.note_handle(handle);
  return order.empty() ? write_empty_location(archive, world_rank) : Status::ok();
}

Status Export::write_location(Archive& archive, ProcessState& state, std::int32_t world_rank,
                              std::size_t thread_index, LocationId id, LocationEntry& entry) {
  entry.name = source_.process(world_rank).locations[id].name;
  OTF2_EvtWriter* writer = nullptr;
  Status status = archive.open_event_writer(location_id(world_rank, thread_index), writer);
  if (!status.is_ok()) return status;
  ThreadTeam team;
  if (thread_index > 0)
    team = {team_comm_id(ids_.comms.size(), ids_.threaded_ranks, world_rank), thread_index};
  const auto calls = source_.calls(world_rank, id);
  const auto points = source_.points(world_rank, id);
  EventFile file(writer, state, id, content_.summary);
  const OTF2_ErrorCode code = file.write(*calls, points.get(), team, job_.progress);
  status = archive.errors().status(
      directory_.shown_path() + ": events of rank " + std::to_string(world_rank), code);
  return status.is_ok() ? archive.close_event_writer(writer, entry.event_count) : status;
}

// Every location has two files. A process without locations gets a main thread.
Status Export::write_local_definitions(Archive& archive) {
  Status status;
  for (const ProcessEntry& process : content_.processes) {
    const std::size_t count = std::max<std::size_t>(process.locations.size(), 1);
    for (std::size_t i = 0; i < count && status.is_ok(); ++i) {
      status = archive.write_local_definitions(location_id(process.world_rank, i));
    }
  }
  for (const std::int32_t rank : my_ranks_without_trace()) {
    if (status.is_ok()) status = archive.write_local_definitions(location_id(rank, 0));
  }
  return status;
}

Status Export::write_global_definitions(Archive& archive) {
  const std::string machine = content_.processes.empty() ? "" : content_.processes.front().host;
  OTF2_GlobalDefWriter* writer = nullptr;
  Status status = archive.open_global_definitions(job_.generator, machine, writer);
  if (!status.is_ok()) return status;
  DefinitionFile file(writer, source_.world_size(), definitions_, content_);
  const OTF2_ErrorCode code = file.write(
      {.end_ns = content_.summary.last_time_ns, .start_realtime_ns = source_.start_realtime_ns()});
  status = archive.errors().status(directory_.shown_path() + "/" + kArchiveName + ".def", code);
  return status.is_ok() ? archive.close_global_definitions(writer) : status;
}

Status Export::describe(ExportResult& result) {
  struct Totals {
    std::uint64_t records;
    std::uint64_t bytes;
  };
  Collective::Bytes bytes(sizeof(Totals));
  const Totals mine{members_.rank() == 0 ? content_.event_count : 0,
                    file_bytes()};  // merged in definitions_ already
  std::memcpy(bytes.data(), &mine, sizeof mine);
  const Status status = members_.merge_all(
      bytes, [](Collective::Bytes& sum, std::span<const std::byte> other) {
        Totals left;
        Totals right;
        std::memcpy(&left, sum.data(), sizeof left);
        std::memcpy(&right, other.data(), sizeof right);
        left.records += right.records;
        left.bytes += right.bytes;
        std::memcpy(sum.data(), &left, sizeof left);
      });
  Totals all;
  std::memcpy(&all, bytes.data(), sizeof all);
  result = {.path = std::string(kArchiveName) + ".otf2",
            .records = all.records,
            .bytes = all.bytes,
            .notes = {}};
  return status;
}

std::uint64_t Export::file_bytes() const {
  std::uint64_t sum = 0;
  const auto add = [&sum](const std::string& file) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(file, error);
    if (!error) sum += bytes;
  };
  const auto add_location = [this, &add](std::int32_t rank, std::size_t thread_index) {
    const std::string file = directory_.path_of("/" +
                                                std::to_string(location_id(rank, thread_index)));
    add(file + ".evt");
    add(file + ".def");
  };
  for (const std::int32_t rank : source_.world_ranks()) {
    const std::size_t count = std::max<std::size_t>(source_.process(rank).locations.size(), 1);
    for (std::size_t i = 0; i < count; ++i) add_location(rank, i);
  }
  for (const std::int32_t rank : my_ranks_without_trace()) add_location(rank, 0);
  if (members_.rank() == 0) {
    add(directory_.path_of(".otf2"));
    add(directory_.path_of(".def"));
  }
  return sum;
}

}  // namespace

Status run_export(const ExportJob& job, ExportResult& result) { return Export(job).run(result); }

}  // namespace megascope::otf2
