// The end of a run (plugin/run/conclusion.h) of any number of ranks, without the ranks: what each
// sends, receives and holds.
//
//   end_simulation [--ranks-per-node 64] [--export] [RANKS...]
//
// A rank has what one of a halo exchange on a square grid has: 10 functions, 3 communicators (the
// world, its row, its column), 4 neighbours. Nothing is written to disk. --export: also what the
// ranks tell each other in an export to OTF2, but not what libotf2 tells itself. A table, and what
// each row grows as.

#include "bench/end_exports.h"
#include "bench/simulated_world.h"
#include "core/profile/profile.h"
#include "exporters/report/summary.h"
#include "plugin/run/conclusion.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::bench {
namespace {

constexpr std::int64_t kStartNs = 1'700'000'000'000'000'000;
constexpr RegionId kAllreduce = 4;
constexpr const char* kFunctions[] = {
    "MPI_Init",  "MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_split", "MPI_Allreduce",
    "MPI_Irecv", "MPI_Isend",     "MPI_Waitall",   "MPI_Bcast",      "MPI_Finalize"};
constexpr RegionId kIsend = 6;

struct Grid {
  int size = 1;
  int width = 1;
  int ranks_per_node = 64;
  bool wants_export = false;
};

ProcessDefinitions definitions_of(int rank, const Grid& grid) {
  ProcessDefinitions process;
  ProcessInfo& info = process.info;
  const int node = rank / grid.ranks_per_node;
  info.world_rank = rank;
  info.world_size = grid.size;
  info.pid = 10'000 + rank;
  info.run_id = "0123456789abcdef";
  info.host = "node" + std::to_string(10'000 + node);
  info.program = "/project/solver/bin/solver";
  info.command_line = "/project/solver/bin/solver --steps 1000 input.yaml";
  info.mpi_library =
      "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
  info.job = "123456.0";
  info.launcher = {{"SLURM_JOB_ID", "123456"},
                   {"SLURM_STEP_ID", "0"},
                   {"SLURM_NODEID", std::to_string(node)},
                   {"SLURM_NTASKS", std::to_string(grid.size)},
                   {"SLURM_JOB_NAME", "solver"}};
  info.clock.domain = info.host + " 4026531834 tsc";
  info.start_ticks = 1'000'000 + static_cast<std::uint64_t>(rank);
  info.clock.points = {{1'000'000, 500'000, kStartNs},
                       {4'000'000'000, 2'000'500'000, kStartNs + 2'000'000'000}};
  if (node > 0 && rank % grid.ranks_per_node == 0) {  // asked at start and end
    const std::uint64_t peer = clock_domain_id("of another node");
    info.clock.samples = {{peer, 1'000'000'000, 1'000'010'000, 2'000'005'000},
                          {peer, 4'000'000'000, 4'000'010'000, 5'000'005'000}};
  }
  info.end_state = EndState::kFinalized;
  for (RegionId i = 0; i < std::size(kFunctions); ++i) {
    const RegionRole role = i == kAllreduce ? RegionRole::kCollAllToAll
                            : i == kIsend   ? RegionRole::kPointToPoint
                                            : RegionRole::kFunction;
    process.regions.push_back({.id = i, .name = kFunctions[i], .role = role, .group = {}});
  }
  const int row = rank / grid.width;
  const int column = rank % grid.width;
  process.comms = {{.id = 0,
                    .global_name = 1,
                    .kind = CommKind::kWorld,
                    .name = "MPI_COMM_WORLD",
                    .my_rank = rank,
                    .members = {{0, 1, grid.size}},
                    .remote_members = {}},
                   {.id = 1,
                    .parent = 0,
                    .global_name = 1'000'000 + static_cast<std::uint64_t>(row),
                    .name = "row " + std::to_string(row),
                    .my_rank = column,
                    .members = {{row * grid.width, 1, grid.width}},
                    .remote_members = {}},
                   {.id = 2,
                    .parent = 0,
                    .global_name = 2'000'000 + static_cast<std::uint64_t>(column),
                    .name = "column " + std::to_string(column),
                    .my_rank = row,
                    .members = {{column, grid.width, grid.size / grid.width}},
                    .remote_members = {}}};
  process.locations.push_back(
      {.id = 0, .name = "main thread", .system_thread_id = info.pid, .is_main = true});
  return process;
}

Profile profile_of(const ProcessDefinitions& process, const Grid& grid) {
  Profile profile;
  profile.set_world_rank(process.info.world_rank);
  profile.define(process);
  std::uint64_t now_ns = 1'000;
  for (RegionId function = 0; function < std::size(kFunctions); ++function) {
    const auto jitter_ns = static_cast<std::uint64_t>(process.info.world_rank) * 7919 %
                           1000;  // waits differ by rank
    profile.add_plain({.region = function, .enter = now_ns, .time = 5'000 + jitter_ns});
    now_ns += 10'000;
  }
  for (CommId comm = 0; comm < process.comms.size(); ++comm) {
    profile.add_collective({.region = kAllreduce,
                            .comm = comm,
                            .enter = now_ns,
                            .time = 20'000,
                            .sent = 8,
                            .received = 8},
                           0, kNoPeer);
    now_ns += 30'000;
  }
  for (const int step : {-grid.width, -1, 1, grid.width}) {
    const int peer = (process.info.world_rank + step + grid.size) % grid.size;
    profile.add_message({.region = kIsend, .comm = 0, .enter = now_ns, .time = 1'000}, true, peer,
                        2048);
    now_ns += 2'000;
  }
  return profile;
}

class SimulatedPart final : public run::RunPart {
 public:
  SimulatedPart(int rank, const Grid& grid) : process_(definitions_of(rank, grid)), grid_(grid) {}

  std::string own_directory() override {
    return process_.info.world_rank == 0 ? "/scratch/project/user/megascope-123456.0" : "";
  }
  void enter_directory(const std::string&) override {}
  ClockDomain clock() override { return clock_domain_of(process_.info); }
  report::RunReport report() override {
    report::RankFacts facts;
    facts.version = "0.1.0";
    facts.trace_bytes = 1'000'000;
    report::RunReport report = report::summarize(process_, profile_of(process_, grid_), facts);
    if (!grid_.wants_export) process_ = {};
    return report;
  }
  std::vector<std::string> wanted_formats(const report::RunReport& report) override {
    if (static_cast<int>(report.ranks.size()) != grid_.size) {
      std::fprintf(stderr, "%zu of %d ranks are in the report\n", report.ranks.size(), grid_.size);
      std::exit(1);
    }
    return grid_.wants_export ? std::vector<std::string>{"otf2"} : std::vector<std::string>();
  }
  void run_exports(Collective& group, const std::vector<std::string>&,
                   const std::vector<ClockDomain>&, report::RunReport&) override {
    for (int step = 0; step < 2; ++step)
      (void)run::agree(group, Status::ok()).is_ok();  // the trace is open, the module is loaded
    if (const Status status = run::agree(group, exchange_of_export(group, process_));
        !status.is_ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      std::exit(1);
    }
  }
  void close(Collective&, const std::vector<ClockDomain>&, report::RunReport&) override {}

 private:
  ProcessDefinitions process_;
  Grid grid_;
};

using Row = std::vector<double>;  ///< a figure by number of ranks

void add_figures(const std::vector<RankCount>& counts, std::map<std::string, Row>& rows) {
  RankCount most;
  double bytes = 0;
  for (const RankCount& count : counts) {
    most.messages_sent = std::max(most.messages_sent, count.messages_sent);
    most.messages_received = std::max(most.messages_received, count.messages_received);
    most.bytes_sent = std::max(most.bytes_sent, count.bytes_sent);
    most.bytes_received = std::max(most.bytes_received, count.bytes_received);
    most.largest_bytes = std::max(most.largest_bytes, count.largest_bytes);
    most.max_heap_bytes = std::max(most.max_heap_bytes, count.max_heap_bytes);
    most.rounds = std::max(most.rounds, count.rounds);
    most.modelled_ns = std::max(most.modelled_ns, count.modelled_ns);
    bytes += static_cast<double>(count.bytes_sent);
  }
  const auto add = [&rows](const char* name, double figure) { rows[name].push_back(figure); };
  add("1 messages sent, most of one rank", static_cast<double>(most.messages_sent));
  add("2 messages received, most of one rank", static_cast<double>(most.messages_received));
  add("3 rounds", static_cast<double>(most.rounds));
  add("4 bytes sent, mean of a rank", bytes / static_cast<double>(counts.size()));
  add("5 bytes sent, most of one rank", static_cast<double>(most.bytes_sent));
  add("6 bytes received, rank 0", static_cast<double>(counts.front().bytes_received));
  add("7 largest message, bytes", static_cast<double>(most.largest_bytes));
  add("8 heap, rank 0, bytes", static_cast<double>(counts.front().max_heap_bytes));
  add("9 heap, the last rank, bytes", static_cast<double>(counts.back().max_heap_bytes));
  add("modelled time, ms", most.modelled_ns * 1e-6);
}

/// e in figure ~ ranks^e, by least squares of the logarithms.
double exponent(const std::vector<int>& sizes, const Row& row) {
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    mean_x += std::log(sizes[i]) / static_cast<double>(row.size());
    mean_y += std::log(row[i]) / static_cast<double>(row.size());
  }
  double above = 0;
  double below = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    above += (std::log(sizes[i]) - mean_x) * (std::log(row[i]) - mean_y);
    below += (std::log(sizes[i]) - mean_x) * (std::log(sizes[i]) - mean_x);
  }
  return above / below;
}

void print_table(const std::vector<int>& sizes, const std::map<std::string, Row>& rows) {
  std::printf("| |");
  for (const int size : sizes) std::printf(" %d |", size);
  std::printf(" e |\n|---|");
  for (std::size_t i = 0; i < sizes.size(); ++i) std::printf("---|");
  std::printf("---|\n");
  for (const auto& [name, row] : rows) {
    std::printf("| %s |", name.c_str());
    for (const double figure : row) std::printf(figure < 100 ? " %.3g |" : " %.0f |", figure);
    std::printf(" %.2f |\n", exponent(sizes, row));
  }
}

int run_all(const std::vector<int>& sizes, Grid grid) {
  std::map<std::string, Row> rows;
  for (const int size : sizes) {
    grid.size = size;
    grid.width = static_cast<int>(std::sqrt(size));
    while (size % grid.width != 0) --grid.width;
    SimulatedWorld world(size, {});
    world.run([&grid](Collective& collective) {
      SimulatedPart part(collective.rank(), grid);
      if (const Status status = run::conclude(collective, part); status.is_ok()) return;
      std::fprintf(stderr, "rank %d did not come to an end\n", collective.rank());
      std::exit(1);
    });
    add_figures(world.counts(), rows);
  }
  print_table(sizes, rows);
  return 0;
}

}  // namespace
}  // namespace megascope::bench

int main(int count, char** words) {
  std::vector<int> sizes;
  megascope::bench::Grid grid;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--export")
      grid.wants_export = true;
    else if (word == "--ranks-per-node" && i + 1 < count)
      grid.ranks_per_node = std::max(1, std::atoi(words[++i]));
    else
      sizes.push_back(std::max(1, std::atoi(words[i])));
  }
  if (sizes.empty()) sizes = {64, 256, 1024, 4096, 16384, 65536};
  return megascope::bench::run_all(sizes, grid);
}
