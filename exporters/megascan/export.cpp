#include "exporters/megascan/export.h"

#include "core/base/text.h"
#include "exporters/common/joint_file.h"
#include "exporters/megascan/coordinates.h"
#include "exporters/megascan/iterations.h"
#include "exporters/megascan/tally.h"
#include "exporters/megascan/worker_file.h"

#include <cerrno>
#include <dirent.h>
#include <string_view>
#include <unistd.h>

namespace megascope::megascan {
namespace {

constexpr const char* kFiles = "benchmark-data-*.json";

/// MegaScan reads all such files in a directory, so files of two runs must not be mixed.
Status check_directory(const std::string& directory) {
  DIR* const open = ::opendir(directory.c_str());
  if (open == nullptr) return Status::from_errno(directory, errno);
  Status status;
  while (const dirent* const entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with("benchmark-") || !name.ends_with(".json")) continue;
    status = Status::error(
        directory + "/" + std::string(name) +
        " exists already; a directory can hold the MegaScan files of one run only");
    break;
  }
  ::closedir(open);
  return status;
}

/// The files of this member. The destructor removes them unless they are kept.
class Files {
 public:
  explicit Files(const ExportJob& job) : job_(job) {}
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() {
    for (const std::string& path : written_) ::unlink(path.c_str());
  }

  Status write(std::int32_t world_rank, const GridCoordinates& coordinates,
               const Iterations& iterations, Tally& tally) {
    const std::unique_ptr<Collective> alone = make_single_collective();
    timeline::JointFile file(*alone, job_.directory, file_name(coordinates));
    Status status = file.open();
    if (!status.is_ok()) return status;
    WorkerFile(*job_.source, world_rank, coordinates, iterations, file).write(job_.progress, tally);
    std::uint64_t bytes = 0;
    status = file.finish(Status::ok(), bytes);
    if (status.is_ok()) written_.push_back(job_.directory + "/" + file_name(coordinates));
    tally.bytes += bytes;
    return status;
  }
  void keep() { written_.clear(); }

 private:
  const ExportJob& job_;
  std::vector<std::string> written_;
};

Status write_all(const ExportJob& job, const std::vector<GridCoordinates>& coordinates,
                 const Iterations& iterations, Tally& tally) {
  Files files(job);
  Status mine;
  const std::vector<std::int32_t>& ranks = job.source->world_ranks();
  for (std::size_t i = 0; i < ranks.size() && mine.is_ok(); ++i)
    mine = files.write(ranks[i], coordinates[i], iterations, tally);
  Status status = timeline::agree(*job.collective, std::move(mine));
  if (status.is_ok()) files.keep();
  return status;
}

}  // namespace

Status run_export(const ExportJob& job, ExportResult& result) {
  Collective& members = *job.collective;
  std::vector<GridCoordinates> coordinates;
  Status status = find_coordinates(*job.source, members, coordinates);
  if (!status.is_ok()) return status;
  status = timeline::agree(members,
                           members.rank() == 0 ? check_directory(job.directory) : Status::ok());
  if (!status.is_ok()) return status;
  Iterations iterations;
  status = Iterations::of(*job.source, members, iterations);
  if (!status.is_ok()) return status;
  Tally tally;
  std::uint64_t rank_count = coordinates.size();
  status = write_all(job, coordinates, iterations, tally);
  if (status.is_ok()) status = add_up(members, tally);
  if (status.is_ok()) status = timeline::add_up(members, rank_count);
  if (!status.is_ok()) return status;
  result.path = kFiles;
  result.records = tally.rows;
  result.bytes = tally.bytes;
  result.notes = iterations.notes();
  for (std::string& note : notes_of(tally)) result.notes.push_back(std::move(note));
  const auto world_size = static_cast<std::uint64_t>(job.source->world_size());
  if (rank_count < world_size) {
    result.notes.push_back(human_count(world_size - rank_count) +
                           " ranks have no trace and no file; MegaScan's aggregate.py needs a file "
                           "for every coordinate");
  }
  return Status::ok();
}

}  // namespace megascope::megascan
