#include "spinning_program.h"

#include "core/record/value_fact.h"
#include "tests/support/sample_process.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

namespace megascope {
namespace {

using test::SampleProcess;

constexpr double kCallNs = 2e3;

/// One rank's trace while it is made.
class Rank {
 public:
  Rank(const SpinningProgram& program, std::int32_t number)
      : process_(number, program.ranks),
        clock_ns_(program.clock_ns[static_cast<std::size_t>(number)]) {
    ProcessInfo& info = process_.definitions().info;
    info.host = "n1";
    info.run_id = "run";
    const bool is_one_clock = std::ranges::count(program.clock_ns, 0) == program.ranks;
    info.clock.domain = is_one_clock ? "n1" : "n" + std::to_string(number);
    info.end_state = EndState::kFinalized;
    if (!program.has_communicators) return;
    const std::int32_t first = number / program.group_size * program.group_size;
    std::vector<std::int32_t> group(static_cast<std::size_t>(program.group_size));
    std::iota(group.begin(), group.end(), first);
    process_.add_comm(100 + static_cast<std::uint64_t>(first), "group", test::kWorld, group);
  }

  double now_ns = 1e6;

  void call(const char* function, double end_ns, const std::vector<Fact>& facts = {}) {
    add(function, now_ns, end_ns, facts);
    now_ns = end_ns;
  }
  void collective(const char* function, std::uint64_t bytes, double end_ns) {
    call(function, end_ns, {test::collective(sequence_++, kNoPeer, bytes, bytes)});
  }
  /// Its end is known once it is there.
  void enter(const char* region, const std::vector<Fact>& facts = {}) {
    open_.push_back(process_.process().locations[0].size());
    add(region, now_ns, now_ns, facts);
  }
  void leave() {
    process_.process().locations[0][open_.back()].call.leave_ns = time_of(now_ns);
    open_.pop_back();
  }
  const SampleProcess& process() const { return process_; }

 private:
  std::uint64_t time_of(double ns) const {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(ns) + clock_ns_);
  }
  void add(const char* function, double begin_ns, double end_ns, const std::vector<Fact>& facts) {
    process_.call(function, time_of(begin_ns), time_of(end_ns), facts);
  }

  SampleProcess process_;
  std::int64_t clock_ns_;
  std::vector<std::size_t> open_;  ///< regions
  std::uint32_t sequence_ = 0;
};

double latest_ns(const std::vector<Rank>& ranks, std::size_t first, std::size_t count) {
  double latest = 0.0;
  for (std::size_t i = first; i < first + count; ++i) latest = std::max(latest, ranks[i].now_ns);
  return latest;
}

}  // namespace

MemorySource SpinningProgram::run() const {
  std::mt19937 random(11);
  std::lognormal_distribution<double> vary(0.0, noise);
  std::vector<Rank> all;
  for (std::int32_t number = 0; number < ranks; ++number) all.emplace_back(*this, number);
  for (Rank& rank : all) rank.call("MPI_Init", rank.now_ns + 1e5);
  const auto count = static_cast<std::size_t>(ranks);
  const auto of_group = static_cast<std::size_t>(group_size);
  const auto meet = [&](const char* function, std::uint64_t bytes) {
    const double end_ns = latest_ns(all, 0, count) + kCallNs;
    for (Rank& rank : all) rank.collective(function, bytes, end_ns);
  };
  for (std::int32_t step = 0; step < steps; ++step) {
    const double common = step >= steps / 2 ? common_factor_from_half : 1.0;
    const Fact packed{.kind = FactKind::kLocalBytes, .bytes = 64};
    for (std::size_t i = 0; i < count; ++i) {
      if (has_steps) all[i].enter("step", {value_fact(ValueName::kStep, step)});
      const double work_ns = kBeforeNs * before[i] * common * vary(random);
      for (std::int32_t call = 0; call < calls_in_work; ++call) {
        all[i].now_ns += work_ns * vary(random);
        all[i].call("MPI_Pack", all[i].now_ns + kCallNs, {packed});
      }
      all[i].now_ns += work_ns;
      all[i].call("MPI_Pack", all[i].now_ns + kCallNs, {packed});
      if (has_regions) all[i].enter("backward");
      all[i].now_ns += kInsideNs * inside[i] * common * vary(random);
    }
    for (std::size_t first = 0; first < count; first += of_group) {
      const double together_ns = latest_ns(all, first, of_group);
      for (std::size_t i = first; i < first + of_group; ++i) {
        // A flag is seen a little later by some.
        if (has_hidden_sync && step % sync_every == 0)
          all[i].now_ns = together_ns + 100.0 * static_cast<double>(i);
        if (has_regions) all[i].leave();
      }
    }
    if (step >= extra_calls_from && step % 3 == 0) meet("MPI_Barrier", 0);
    meet("MPI_Allreduce", 8);
    for (Rank& rank : all) {
      if (has_steps) rank.leave();
    }
  }
  std::vector<SampleProcess> processes;
  for (Rank& rank : all) {
    rank.call("MPI_Finalize", rank.now_ns + 1e4);
    processes.push_back(rank.process());
  }
  return make_source(ranks, processes);
}

}  // namespace megascope
