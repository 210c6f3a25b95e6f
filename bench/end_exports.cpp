#include "bench/end_exports.h"

#include "exporters/otf2/archive_content.h"
#include "exporters/otf2/shared_definitions.h"

namespace megascope::bench {
namespace {

/// One process, as a rank sees the run in a job.
class OwnSource final : public RecordSource {
 public:
  explicit OwnSource(const ProcessDefinitions& process)
      : process_(process), ranks_{process.info.world_rank} {}

  std::int32_t world_size() const override { return process_.info.world_size; }
  const std::vector<std::int32_t>& world_ranks() const override { return ranks_; }
  const ProcessDefinitions& process(std::int32_t) const override { return process_; }
  std::unique_ptr<CallStream> calls(std::int32_t, LocationId) const override { return nullptr; }
  std::int64_t start_realtime_ns() const override { return 0; }
  std::uint64_t end_ns() const override { return 0; }

 private:
  const ProcessDefinitions& process_;
  std::vector<std::int32_t> ranks_;
};

}  // namespace

Status exchange_of_export(Collective& group, const ProcessDefinitions& process) {
  otf2::SharedDefinitions all;
  otf2::IdTable ids;
  Status status = otf2::unify_definitions(OwnSource(process), group, all, ids);
  otf2::ArchiveContent content;
  content.job = process.info.job;
  content.event_count = 1;
  content.processes.push_back({process.info.world_rank, process.info.host, {{"main thread", 1}}});
  status.update(otf2::merge_content(group, content));
  return status;
}

}  // namespace megascope::bench
