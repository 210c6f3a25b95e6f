// clock_error RUN [<rank>/<offset_ns>/<drift_ppm>...]: how far the run's time of each call is from
// the truth, which the arguments tell (MEGASCOPE_TEST_CLOCK of the run, by spaces). Prints a JSON
// object: of the errors of all ranks but 0, in ns, and by how much, at most, somebody seems to
// leave an all-reduction of MPI_COMM_WORLD before somebody else enters.
#include "core/trace/run_files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

using megascope::Call;
using megascope::trace::RunSource;

struct WrongClock {
  double offset_ns = 0.0;
  double drift_ppm = 0.0;

  double shown(double true_ns) const { return true_ns * (1.0 + drift_ppm * 1e-6) + offset_ns; }
  double truth(double shown_ns) const { return (shown_ns - offset_ns) / (1.0 + drift_ppm * 1e-6); }
};

std::map<int, WrongClock> clocks_of(int count, char** arguments) {
  std::map<int, WrongClock> clocks;
  for (int i = 0; i < count; ++i) {
    int rank = 0;
    WrongClock clock;
    if (std::sscanf(arguments[i], "%d/%lf/%lf", &rank, &clock.offset_ns, &clock.drift_ppm) == 3)
      clocks[rank] = clock;
  }
  return clocks;
}

struct Times {
  std::vector<double> shown_ns;  ///< entries by the rank's clock
  std::vector<double> run_ns;    ///< the same in the run's time
  std::map<std::uint32_t, std::pair<double, double>>
      collectives;  ///< entry and return in the run's time, by number
};

Times times_of(const RunSource& run, std::int32_t rank) {
  Times times;
  megascope::RegionId all_reduce = megascope::kNoRegion;
  for (const megascope::RegionDefinition& region : run.process(rank).regions) {
    if (region.name == "MPI_Allreduce") all_reduce = region.id;
  }
  const auto shown = run.file(rank).calls(0);
  const auto corrected = run.calls(rank, 0);
  for (Call a, b; shown->next(a) && corrected->next(b);) {
    times.shown_ns.push_back(static_cast<double>(a.enter_ns));
    times.run_ns.push_back(static_cast<double>(b.enter_ns));
    for (const megascope::Fact& fact : b.facts) {
      if (b.region == all_reduce && fact.kind == megascope::FactKind::kCollective)
        times.collectives[fact.sequence] = {static_cast<double>(b.enter_ns),
                                            static_cast<double>(b.leave_ns)};
    }
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<RunSource> run;
  std::vector<std::string> problems;
  if (argc < 2 || !RunSource::open(argv[1], {}, run, problems).is_ok()) return 2;
  const std::map<int, WrongClock> clocks = clocks_of(argc - 2, argv + 2);
  const auto clock_of_rank = [&](int rank) {
    return clocks.contains(rank) ? clocks.at(rank) : WrongClock{};
  };
  std::map<int, Times> times;
  for (const std::int32_t rank : run->world_ranks()) times[rank] = times_of(*run, rank);
  // The run's time is that of rank 0's clock.
  const Times& reference = times.at(0);
  const double zero = reference.shown_ns.back() - reference.run_ns.back();
  std::vector<double> errors;
  double reversed_ns = 0.0;
  std::size_t compared = 0;
  for (const auto& [rank, mine] : times) {
    for (std::size_t i = 0; rank != 0 && i < mine.shown_ns.size(); ++i) {
      const double expected = clock_of_rank(0).shown(clock_of_rank(rank).truth(mine.shown_ns[i])) -
                              zero;
      errors.push_back(std::fabs(mine.run_ns[i] - expected));
    }
    for (const auto& [number, span] : mine.collectives) {
      const auto other = reference.collectives.find(number);
      if (rank == 0 || other == reference.collectives.end()) continue;
      ++compared;
      reversed_ns = std::max(
          {reversed_ns, other->second.first - span.second, span.first - other->second.second});
    }
  }
  std::sort(errors.begin(), errors.end());
  const auto at = [&](double share) {
    return errors.empty()
               ? 0.0
               : errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1))];
  };
  double bound_ns = 0.0;
  std::size_t measured = 0;
  std::size_t samples = 0;
  for (const auto& [id, domain] : run->time().domains) {
    bound_ns = std::max(bound_ns, domain.error_ns);
    measured += domain.is_measured ? 1 : 0;
  }
  for (const std::int32_t rank : run->world_ranks())
    samples += run->process(rank).info.clock.samples.size();
  std::printf(
      "{\"calls\": %zu, \"domains\": %zu, \"measured\": %zu, \"samples\": %zu, \"bound_ns\": %.0f, "
      "\"p50_ns\": %.0f, \"p99_ns\": %.0f, \"max_ns\": %.0f, \"collectives\": %zu, "
      "\"reversed_ns\": %.0f}\n",
      errors.size(), run->time().domains.size(), measured, samples, bound_ns, at(0.5), at(0.99),
      at(1.0), compared, reversed_ns);
  return 0;
}
