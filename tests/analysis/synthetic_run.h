#pragma once

#include "core/record/memory_source.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::analysis {

/// A run made by hand: every rank has the world as communicator 0, and one thread unless more are
/// asked for. Times in ns.
class SyntheticRun {
 public:
  explicit SyntheticRun(std::int32_t size, int thread_count = 1);

  /// Another communicator, in all its members; the number is that of each of them.
  CommId comm(const std::string& name, const std::vector<std::int32_t>& members,
              CommKind kind = CommKind::kIntra, const std::vector<std::int32_t>& remote = {});
  /// A call that returned.
  SyntheticRun& call(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                     std::vector<Fact> facts = {}, LocationId location = 0);
  /// The same with a length; of a region that is not said yet.
  SyntheticRun& spent(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                      std::uint64_t leave_ns, std::vector<Fact> facts = {},
                      LocationId location = 0);
  /// The call that a thread is in at the end; give it last.
  SyntheticRun& in(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                   std::vector<Fact> posted = {}, LocationId location = 0);
  /// A collective that returned, or (is_inside) not.
  SyntheticRun& collective(std::int32_t rank, const std::string& function, std::uint64_t enter_ns,
                           CommId comm, std::uint32_t sequence, std::int32_t root = kNoPeer,
                           std::uint64_t bytes = 0, bool is_inside = false);
  /// MPI_Finalize of all ranks.
  SyntheticRun& finish(std::uint64_t time_ns);

  MemorySource::Process& process(std::int32_t rank) {
    return processes_[static_cast<std::size_t>(rank)];
  }
  /// Without the ranks in `missing`. The run may be changed afterwards and be made again.
  std::unique_ptr<MemorySource> source(const std::vector<std::int32_t>& missing = {}) const;

 private:
  RegionId region(const std::string& function);
  void append(std::int32_t rank, MemorySource::OwnedCall call, LocationId location);

  std::vector<MemorySource::Process> processes_;
  std::vector<std::string> functions_;
  std::uint64_t next_name_ = 100;
};

/// Facts as calls tell them.
Fact collective_fact(std::uint32_t sequence, std::int32_t root = kNoPeer, std::uint64_t bytes = 8,
                     CommId comm = 0);
Fact receive(std::int32_t peer, std::int32_t tag, CommId comm = 0);
Fact send(std::int32_t peer, std::int32_t tag, std::uint64_t bytes = 8, CommId comm = 0);
Fact receive_request(RequestId request, std::int32_t peer, std::int32_t tag, CommId comm = 0);
Fact send_request(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes = 8,
                  CommId comm = 0);
Fact receive_complete(RequestId request, std::int32_t peer, std::int32_t tag, CommId comm = 0);
Fact over(std::uint32_t request_count);

}  // namespace megascope::analysis
