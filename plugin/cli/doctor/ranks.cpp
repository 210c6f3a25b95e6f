#include "core/base/node_cpus.h"
#include "core/base/text.h"
#include "core/config/environment.h"
#include "plugin/cli/doctor/checks.h"
#include "plugin/cli/launch/program_check.h"
#include "plugin/cli/launch/ranks_asked.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unistd.h>

/// Checks of the number of ranks against cores, and of Open MPI's refusal to run as root.
namespace megascope::cli {
namespace {

constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 24;

std::uint64_t count_in(const char* variable) {
  const std::optional<std::uint64_t> count = parse_count(config::environment_value(variable));
  return count && *count <= kMaxCount ? *count : 0;
}

/// The cores available to the ranks of this launcher, as far as this machine knows.
struct Space {
  double cores = 0;  ///< 0: unknown
  std::string text;  ///< "2 cores of this machine"
};

Space space_for(const Subject& subject) {
  const std::uint64_t nodes = std::max<std::uint64_t>(1, count_in("SLURM_JOB_NUM_NODES"));
  const std::uint64_t processors = count_in("SLURM_CPUS_ON_NODE");
  if (nodes > 1 || (processors != 0 && subject.kind == LauncherKind::kSrun)) {
    if (processors == 0) return {};
    return {static_cast<double>(nodes * processors),
            fmt::format("{} processors of the job", nodes * processors)};
  }
  if (subject.kind == LauncherKind::kSrun) return {};  // srun would have to allocate a node first
  const NodeCpus cpus = node_cpus();
  const std::size_t cores = cpus.cores.size();
  const double granted = cpus.granted();
  if (granted > 0 && granted < static_cast<double>(cores)) {
    return {granted, fmt::format("{:.1f} processors granted by the control group", granted)};
  }
  return {static_cast<double>(cores),
          fmt::format("{} usable {}", cores, cores == 1 ? "core" : "cores")};
}

bool is_root_allowed(const std::vector<std::string>& command) {
  const auto is_set = [](const char* name) { return config::environment_value(name) == "1"; };
  const bool by_environment = (is_set("OMPI_ALLOW_RUN_AS_ROOT") &&
                               is_set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")) ||
                              (is_set("PRTE_ALLOW_RUN_AS_ROOT") &&
                               is_set("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"));
  return by_environment || std::ranges::any_of(command, [](const std::string& word) {
           return word == "--allow-run-as-root" || word == "-allow-run-as-root";
         });
}

}  // namespace

Findings check_ranks(const Subject& subject) {
  if (subject.kind == LauncherKind::kNone) return {};
  const RanksAsked asked = ranks_asked(subject.command, subject.kind, [](const std::string& word) {
    return !find_program(word).empty();
  });
  if (asked.count == 0 || asked.names_hosts) return {};
  const Space space = space_for(subject);
  if (space.cores == 0 || static_cast<double>(asked.count) <= space.cores) return {};
  const char* refusal = subject.kind == LauncherKind::kOpenMpi
                            ? " (Open MPI needs --oversubscribe to start more)"
                            : "";
  return {{Verdict::kNote, "ranks",
           fmt::format("more ranks than cores: {} ranks on {}; ranks waiting for a core look slow",
                       asked.count, space.text),
           fmt::format("Start at most {} ranks here{}.",
                       std::max<std::int64_t>(1, std::llround(std::floor(space.cores))), refusal)}};
}

Findings check_root(const Subject& subject) {
  const bool is_given = subject.kind != LauncherKind::kNone;
  const bool is_open_mpi = is_given ? subject.kind == LauncherKind::kOpenMpi
                                    : std::string_view(MEGASCOPE_MPI_LIBRARY) == "openmpi" &&
                                          !find_program("mpirun").empty();
  if (geteuid() != 0 || !is_open_mpi || is_root_allowed(subject.command)) return {};
  return {{is_given ? Verdict::kProblem : Verdict::kNote, "root",
           "Open MPI's mpirun refuses to run as root",
           "Run it as another user, or with --allow-run-as-root."}};
}

}  // namespace megascope::cli
