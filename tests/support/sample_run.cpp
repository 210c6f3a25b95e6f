#include "tests/support/sample_run.h"

#include <algorithm>
#include <utility>

namespace megascope::test {

SampleRun::SampleRun(std::int32_t size, int thread_count) {
  for (std::int32_t rank = 0; rank < size; ++rank) {
    SampleProcess& process = processes_.emplace_back(rank, size);
    process.definitions().info.thread_level = thread_count > 1 ? 3 : 0;
    for (int i = 1; i < thread_count; ++i) process.add_thread("thread " + std::to_string(i));
  }
}

CommId SampleRun::comm(const std::string& name, const std::vector<std::int32_t>& members,
                       const std::vector<std::int32_t>& remote_members) {
  const CommId id = next_comm_++;
  const std::uint64_t global_name = next_global_name_++;
  const auto define = [&](const std::vector<std::int32_t>& mine,
                          const std::vector<std::int32_t>& theirs) {
    for (const std::int32_t rank : mine) {
      SampleProcess& process = this->process(rank);
      while (process.definitions().comms.size() < id)  // CommIds of a process have no gaps
        process.add_comm(next_global_name_++, "filler", kNoComm, {rank});
      process.add_comm(global_name, name, kWorld, mine, theirs);
    }
  };
  define(members, remote_members);
  define(remote_members, members);
  return id;
}

SampleRun& SampleRun::call(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                           std::vector<Fact> facts, LocationId location) {
  return spent(rank, function, enter_ns, enter_ns + 1, std::move(facts), location);
}

SampleRun& SampleRun::spent(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                            std::uint64_t leave_ns, std::vector<Fact> facts, LocationId location) {
  process(rank).call(function, enter_ns, leave_ns, std::move(facts), location);
  return *this;
}

SampleRun& SampleRun::in(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                         std::vector<Fact> posted, LocationId location) {
  process(rank).in(function, enter_ns, enter_ns + 1, std::move(posted), location);
  return *this;
}

SampleRun& SampleRun::collective(std::int32_t rank, const std::string& function,
                                 std::uint64_t enter_ns, CommId comm, std::uint32_t sequence,
                                 std::int32_t root, std::uint64_t bytes, bool is_inside) {
  const Fact fact = test::collective(sequence, root, bytes, bytes, comm);
  return is_inside ? in(rank, function, enter_ns, {fact}) : call(rank, function, enter_ns, {fact});
}

SampleRun& SampleRun::finish(std::uint64_t time_ns) {
  for (SampleProcess& process : processes_) {
    process.call("MPI_Finalize", time_ns, time_ns + 1);
    process.definitions().info.end_state = EndState::kFinalized;
  }
  return *this;
}

std::unique_ptr<MemorySource> SampleRun::source(const std::vector<std::int32_t>& missing) const {
  std::vector<SampleProcess> present;
  for (const SampleProcess& process : processes_) {
    const std::int32_t rank = process.process().definitions.info.world_rank;
    if (std::ranges::find(missing, rank) == missing.end()) present.push_back(process);
  }
  return std::make_unique<MemorySource>(
      make_source(static_cast<std::int32_t>(processes_.size()), present));
}

}  // namespace megascope::test
