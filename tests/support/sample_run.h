#pragma once

#include "tests/support/sample_process.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace megascope::test {

/// All processes of a run made by hand. Times in ns. Functions that return *this can be chained.
class SampleRun {
 public:
  /// Threads of a process: "main thread", "thread 1", ...
  explicit SampleRun(std::int32_t size, int thread_count = 1);

  /// Adds a communicator, an intercommunicator if there are remote members, to all its members.
  /// Returns its CommId, which is the same in each of them.
  CommId comm(const std::string& name, const std::vector<std::int32_t>& members,
              const std::vector<std::int32_t>& remote_members = {});
  /// A call of 1 ns that returned.
  SampleRun& call(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                  std::vector<Fact> facts = {}, LocationId location = 0);
  /// A call that returned at leave_ns.
  SampleRun& spent(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                   std::uint64_t leave_ns, std::vector<Fact> facts = {}, LocationId location = 0);
  /// The call in which a thread is at the end, 1 ns after its entry. Appended last.
  SampleRun& in(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                std::vector<Fact> posted = {}, LocationId location = 0);
  /// A collective call of 1 ns. is_inside: it did not return, as in().
  SampleRun& collective(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                        CommId comm, std::uint32_t sequence, std::int32_t root = kNoPeer,
                        std::uint64_t bytes = 0, bool is_inside = false);
  /// MPI_Finalize on all ranks.
  SampleRun& finish(std::uint64_t time_ns);

  SampleProcess& process(std::int32_t rank) { return processes_[static_cast<std::size_t>(rank)]; }
  /// The run without the ranks in `missing`. This object can be changed and used again.
  std::unique_ptr<MemorySource> source(const std::vector<std::int32_t>& missing = {}) const;

 private:
  std::vector<SampleProcess> processes_;
  std::uint64_t next_global_name_ = 1'000'000;  ///< above the names that SampleProcess gives
  CommId next_comm_ = kSelf + 1;
};

}  // namespace megascope::test
