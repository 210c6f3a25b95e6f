#pragma once

#include "core/base/node_cpus.h"
#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "core/profile/profile.h"
#include "core/record/cpu_reading.h"
#include "core/record/definitions.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// The report of a run, for people (to_text) and programs (to_json). docs/report.md explains the
/// numbers.
namespace megascope::report {

// Limits. The report of one rank has a bounded size; merging adds only one RankRow for each rank.
inline constexpr std::size_t kMaxFunctions = 512;
inline constexpr std::size_t kMaxComms = 256;
inline constexpr std::size_t kMaxFiles = 256;
inline constexpr std::size_t kMaxCallSites = 1024;
inline constexpr std::size_t kMaxRegions = 1024;
inline constexpr std::size_t kMaxPairs = 1024;
inline constexpr std::size_t kMaxWaits = 64;
inline constexpr std::size_t kMaxPending = 64;
inline constexpr std::size_t kMaxPrograms = 8;
inline constexpr std::size_t kMaxUnrecorded = 64;
inline constexpr std::size_t kMaxNotes = 16;
inline constexpr std::size_t kMaxLauncherFacts = 32;

/// Name of the row that contains the sum of all rows beyond a limit.
inline constexpr const char kOthersName[] = "(others)";

/// One MPI function, over all ranks and communicators. Times are in ns in all rows.
struct FunctionRow {
  std::string name;
  RegionRole role = RegionRole::kFunction;
  CallTotals totals;

  bool operator==(const FunctionRow&) const = default;
};

/// Kind of a CommRow.
enum class CommRowKind : std::uint8_t {
  kComm,    ///< one communicator
  kSelf,    ///< the MPI_COMM_SELF of all ranks together
  kRemote,  ///< one inter-world communicator
  kOthers   ///< the communicators beyond kMaxComms together
};

/// Result of the test whether the ranks called the same collectives. Checksums of their calls are
/// compared (core/profile/collective_sums.h).
struct CollectiveCheck {
  CollectiveSum sum;        ///< checksum of the first rank
  std::uint64_t ranks = 0;  ///< number of ranks with a checksum
  bool differs = false;     ///< true: the checksums of these ranks are not all equal

  void merge(const CollectiveCheck& other);
  bool operator==(const CollectiveCheck&) const = default;
};

/// One communicator, over all its recorded members.
struct CommRow {
  CommRowKind kind = CommRowKind::kComm;
  std::uint64_t global_name = 0;  ///< set for kComm and kRemote; otherwise 0
  std::string name;
  /// Number of ranks. For an intercommunicator, the ranks of both groups are counted; for an
  /// inter-world communicator, those of all worlds.
  std::int64_t size = 0;
  CallTotals totals;
  CollectiveCheck check =
      {};  ///< set for kComm if all members know the communicator by the same global name

  bool operator==(const CommRow&) const = default;
};

/// One file name, over all ranks. The same name on two nodes is one row.
struct FileRow {
  struct Totals : FileTotals {
    std::uint64_t ranks = 0;  ///< number of ranks that used it

    void add(const Totals& other) {
      FileTotals::add(other);
      ranks += other.ranks;
    }
    bool operator==(const Totals&) const = default;
  };
  std::string name;
  Totals totals;

  bool operator==(const FileRow&) const = default;
};

/// Calls of one function from one call site, over all ranks. Two call sites are equal if their
/// module, build and offset are equal.
struct CallSiteRow {
  std::string function;     ///< the called function, e.g. "MPI_Send"
  CallSiteDefinition site;  ///< id is unused; empty: calls without a call site
  CallTotals totals;        ///< only calls and time

  bool operator==(const CallSiteRow&) const = default;
};

/// A region annotated by the application, over all ranks and threads. "calls" counts how often it
/// was entered and left.
struct RegionRow {
  std::string name;
  CallTotals totals;

  bool operator==(const RegionRow&) const = default;
};

/// One rank.
struct RankRow {
  std::int32_t world_rank = 0;
  std::uint32_t node = 0;  ///< index into RunReport::nodes
  /// SLURM_NODEID: number of the node in the job step; -1: not under Slurm.
  std::int32_t step_node = -1;
  std::int64_t pid = 0;
  std::uint64_t calls = 0;
  std::uint64_t mpi_time_ns = 0;  ///< summed over threads, including start-up
  std::uint64_t startup_ns = 0;   ///< part of mpi_time_ns in MPI_Init and similar calls
  /// From the entry of the first call to the return of the last one.
  std::uint64_t wall_ns = 0;
  std::uint32_t thread_count = 1;  ///< threads that called MPI
  std::uint64_t overhead_ns = 0;   ///< measurement overhead outside of the calls
  std::uint64_t trace_bytes = 0;
  EndState end_state = EndState::kRunning;
  bool is_standalone = false;
  CpuTotals cpu = {};  ///< sum over all threads
  /// Affinity of the main thread at the start of recording; cores is empty if unknown.
  NodeCpus cpus = {};

  bool operator==(const RankRow&) const = default;
};

/// Time of a rank in one function that may wait for other ranks.
struct WaitRow {
  std::int32_t world_rank = 0;
  std::string function;
  std::string comm;  ///< name of the communicator; empty if there is none or there are several
  std::uint64_t calls = 0;
  std::uint64_t time_ns = 0;

  bool operator==(const WaitRow&) const = default;
};

/// Point-to-point messages from one rank to another.
struct PairRow {
  std::int32_t source = 0;
  std::int32_t destination = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  bool operator==(const PairRow&) const = default;
};

/// A call that had not returned at the end of the trace.
struct PendingRow {
  std::int32_t world_rank = 0;
  std::string function;
  std::string comm;
  std::int32_t peer = kNoPeer;  ///< rank as in the argument of the call
  std::uint64_t since_ns = 0;   ///< time of the entry, counted from the rank's first call
  std::uint64_t time_ns = 0;    ///< duration until the end of the trace

  bool operator==(const PendingRow&) const = default;
};

/// One exported file or directory.
struct ExportRow {
  std::string format;  ///< "otf2"
  std::string path;    ///< within the run directory
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;

  bool operator==(const ExportRow&) const = default;
};

/// Accuracy of the clock synchronization of the run.
struct ClockFacts {
  std::uint64_t domains = 0;  ///< number of clocks, each shared by some processes; 0: unknown
  /// Number of these clocks that could not be measured. They were set by the system clock of their
  /// node.
  std::uint64_t unmeasured = 0;
  double error_ns = 0.0;  ///< upper bound of the error of the measured clocks (DomainTime)

  bool operator==(const ClockFacts&) const = default;
};

/// Cost of the exchanges at steps. Durations are sums over steps of the maximum over ranks.
struct StepExchangeRow {
  std::uint64_t steps = 0;    ///< number of steps with a complete exchange
  std::uint64_t skipped = 0;  ///< number of these steps whose statistics could not be used
  std::uint64_t step_ns = 0;
  std::uint64_t own_ns = 0;   ///< measurement overhead: tensor statistics and exchange
  std::uint64_t wait_ns = 0;  ///< part of own_ns spent waiting for other ranks

  bool operator==(const StepExchangeRow&) const = default;
};

/// Ranks that reached neither MPI_Finalize nor MPI_Abort.
struct OpenEndFacts {
  /// Sentences that state where the records of these ranks end, and which rank ended first. Empty
  /// if there are no such ranks.
  std::string text;
  std::vector<std::int32_t> first;  ///< ranks that ended first, according to the traces
  std::string evidence;             ///< the kind of evidence, e.g. "awaited"

  bool operator==(const OpenEndFacts&) const = default;
};

/// What identifies a run: the software, the job and the program.
struct RunIdentity {
  std::string version;  ///< version of MegaScope
  std::string run_id;
  std::string job;
  /// Ids of job and step, by name. If ranks have different values, that of the lowest rank is kept.
  std::vector<LauncherFact> launcher;
  std::string world;  ///< ProcessInfo::world, parent_world
  std::string parent_world;
  std::string mpi_library;
  std::uint8_t interfaces = 0;  ///< set of flags: the interfaces through which MPI was called
                                ///< (kInterfaceC and similar)
  /// Procedures that some rank called and that cannot be recorded, e.g. "mpi_send_f08_".
  std::vector<std::string> unrecorded;
  std::vector<std::string> programs;  ///< distinct command lines. That of the lowest rank is first

  bool operator==(const RunIdentity&) const = default;
};

/// What rank 0 adds after merging; not sent between ranks.
struct RunConclusion {
  std::string directory;       ///< the run directory as the user can type it; empty: not printed
  std::string report_command;  ///< command that prints this report; empty: not printed
  std::vector<ExportRow> exports;
  ClockFacts clocks;
  OpenEndFacts open_ends;
  StepExchangeRow step_exchange;
  std::string verdict;          ///< verdict of `megascope analyze`; empty: none
  std::string verdict_command;  ///< command that computes the verdict; empty: not printed
  std::string started_by;       ///< run directory of parent_world; empty if it was not found

  bool operator==(const RunConclusion&) const = default;
};

/// The report of a run, or of some of its ranks.
struct RunReport {
  RunIdentity run;
  std::int32_t world_size = 0;
  std::int64_t start_realtime_ns = 0;  ///< since the epoch; 0: unknown
  std::vector<std::string> nodes;
  std::vector<RankRow> ranks;  ///< ascending; ranks without a trace are absent
  /// Size that the native traces of all ranks would have if they were not packed. Known at the end
  /// of a run only, else 0; not printed.
  std::uint64_t unpacked_trace_bytes = 0;
  std::vector<FunctionRow> functions;  ///< ascending by name
  std::vector<CommRow> comms;          ///< ascending by (kind, global_name)
  std::vector<FileRow> files;          ///< ascending by name
  /// Ascending by (module, offset, build, function). Empty if call sites were not recorded.
  std::vector<CallSiteRow> call_sites;
  std::vector<RegionRow> regions;  ///< ascending by name
  std::vector<PairRow> pairs;      ///< the pairs with the most bytes; at most kMaxPairs
  std::uint64_t pair_count = 0;    ///< number of all pairs that exchanged messages
  SizeTotals messages;             ///< over all pairs
  std::array<SizeTotals, kSizeClassCount> message_sizes{};
  /// By the sum of the bytes sent and received in a call. SizeTotals::messages is the number of
  /// calls.
  std::array<SizeTotals, kSizeClassCount> collective_sizes{};
  std::vector<WaitRow> waits;       ///< the rows with the longest time; at most kMaxWaits
  std::vector<PendingRow> pending;  ///< the calls with the longest time; at most kMaxPending
  std::uint64_t pending_count = 0;  ///< number of all pending calls
  Losses losses{};
  /// true: the totals include the calls of dropped records. false: they were computed from a trace
  /// that lacks calls.
  bool covers_all_calls = true;
  std::vector<std::string> notes;  ///< sentences for the user

  // Set on rank 0 only.
  RunConclusion conclusion;
  std::vector<RunReport> spawned;  ///< reports of the worlds that this one spawned

  bool operator==(const RunReport&) const = default;
};

/// Adds the report `theirs`, which is of higher ranks, to `mine`. If a table exceeds its limit, its
/// largest rows are kept. The operation is associative if no table reaches its limit.
void merge(RunReport& mine, const RunReport& theirs);

/// Sorts the rows of a manually built report and applies the limits. merge() does this itself.
void bound(RunReport& report);

/// Appends the report to `to`, in the form in which ranks exchange reports.
void serialize(const RunReport& report, std::vector<std::byte>& to);
/// Parses untrusted bytes. Returns an error, or a report within the limits.
Status parse(std::span<const std::byte> from, RunReport& report);

/// Merges the reports of all members into that of member 0. The reports of the other members are
/// unspecified afterwards. Collective, with O(log size) rounds.
Status merge_up(Collective& collective, RunReport& report);

/// Returns the communicators on which ranks called different collectives. Returns none if a rank
/// did not reach MPI_Finalize or if calls were dropped, because the records of ranks then end at
/// different points of the program. The pointers are valid as long as the report.
std::vector<const CommRow*> comms_that_differ(const RunReport& report);

/// Returns the report as text: at most 60 lines (80 with call sites) of at most 100 columns, ending
/// with a newline. Text from the application is made safe for terminals.
std::string to_text(const RunReport& report);
/// Returns the report as one indented JSON object, ending with a newline. Always valid UTF-8.
std::string to_json(const RunReport& report);

}  // namespace megascope::report
