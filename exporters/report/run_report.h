#pragma once

#include "core/base/node_cpus.h"
#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "core/record/cpu_reading.h"
#include "core/record/definitions.h"
#include "core/record/profile.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// What a run adds up to, for people (to_text) and programs (to_json). docs/report.md says what
/// each number means.
namespace megascope::report {

// How much is kept. A report of one rank has a bounded size; merging adds one RankRow a rank and
// nothing else.
inline constexpr std::size_t kMaxFunctions = 512;
inline constexpr std::size_t kMaxComms = 256;
inline constexpr std::size_t kMaxFiles = 256;
inline constexpr std::size_t kMaxPlaces = 1024;
inline constexpr std::size_t kMaxRegions = 1024;
inline constexpr std::size_t kMaxPairs = 1024;
inline constexpr std::size_t kMaxWaits = 64;
inline constexpr std::size_t kMaxPending = 64;
inline constexpr std::size_t kMaxPrograms = 8;
inline constexpr std::size_t kMaxUnrecorded = 64;
inline constexpr std::size_t kMaxNotes = 16;
inline constexpr std::size_t kMaxLauncherFacts = 32;

/// The name of a row that holds what the bounds left out.
inline constexpr const char kOthersName[] = "(others)";

/// One MPI function, over all ranks and communicators. Times in ns, in this and in all rows.
struct FunctionRow {
  std::string name;
  RegionRole role = RegionRole::kFunction;
  CallTotals totals;

  bool operator==(const FunctionRow&) const = default;
};

/// kSelf: all MPI_COMM_SELF together. kRemote: reaches into another world. kOthers: what the bounds
/// left out.
enum class CommRowKind : std::uint8_t { kComm, kSelf, kRemote, kOthers };

/// Whether ranks called the same collectives, as far as their sums tell
/// (core/record/collective_sums.h).
struct CollectiveCheck {
  CollectiveSum sum;        ///< of the first rank
  std::uint64_t ranks = 0;  ///< that told theirs
  bool differs = false;     ///< some of them

  void merge(const CollectiveCheck& other);
  bool operator==(const CollectiveCheck&) const = default;
};

/// One communicator, over all its members here.
struct CommRow {
  CommRowKind kind = CommRowKind::kComm;
  std::uint64_t global_name = 0;  ///< 0 unless kComm or kRemote
  std::string name;
  std::int64_t size = 0;  ///< ranks in it; of both groups for an intercommunicator, of all worlds
  CallTotals totals;
  CollectiveCheck check = {};  ///< of kComm that all members know by the same name

  bool operator==(const CommRow&) const = default;
};

/// One file name, over all ranks; the same name on two nodes is one row.
struct FileRow {
  struct Totals : FileTotals {
    std::uint64_t ranks = 0;  ///< that used it

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

/// Calls of one function from one place, over all ranks. Places are equal by module, build and
/// offset.
struct PlaceRow {
  std::string function;     ///< that was called: "MPI_Send"
  CallSiteDefinition site;  ///< id has no meaning here; nothing set: calls whose place is not known
  CallTotals totals;        ///< calls and time only

  bool operator==(const PlaceRow&) const = default;
};

/// A region that programs told, over all ranks and threads. "calls" are how often it was entered
/// and left.
struct RegionRow {
  std::string name;
  CallTotals totals;

  bool operator==(const RegionRow&) const = default;
};

struct RankRow {
  std::int32_t world_rank = 0;
  std::uint32_t node = 0;  ///< index into RunReport::nodes
  std::int32_t
      step_node = -1;  ///< SLURM_NODEID: number of the node in the job step; -1: not under Slurm
  std::int64_t pid = 0;
  std::uint64_t calls = 0;
  std::uint64_t mpi_time_ns = 0;   ///< summed over threads, start-up included
  std::uint64_t startup_ns = 0;    ///< of it in MPI_Init and the like
  std::uint64_t wall_ns = 0;       ///< from the entry of the first to the return of the last call
  std::uint32_t thread_count = 1;  ///< threads that called MPI
  std::uint64_t overhead_ns = 0;   ///< our own, outside of the calls
  std::uint64_t trace_bytes = 0;
  EndState end_state = EndState::kRunning;
  bool is_solo = false;
  CpuTotals cpu = {};  ///< of all threads
  NodeCpus cpus = {};  ///< of the main thread when recording began; not known where cores is empty

  bool operator==(const RankRow&) const = default;
};

/// Where a rank spent time in calls that may wait for others.
struct WaitRow {
  std::int32_t world_rank = 0;
  std::string function;
  std::string comm;  ///< empty: of none or of several
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

/// A call that had not returned when the trace ended.
struct PendingRow {
  std::int32_t world_rank = 0;
  std::string function;
  std::string comm;
  std::int32_t peer = kNoPeer;  ///< as the call names it
  std::uint64_t since_ns = 0;   ///< since the rank's first call
  std::uint64_t time_ns = 0;    ///< until the trace's end

  bool operator==(const PendingRow&) const = default;
};

struct ExportRow {
  std::string format;  ///< "otf2"
  std::string path;    ///< within the run folder
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;

  bool operator==(const ExportRow&) const = default;
};

/// How the clocks of the run's processes were brought to one time.
struct ClockFacts {
  std::uint64_t domains = 0;     ///< clocks, each shared by some processes; 0: not known
  std::uint64_t unmeasured = 0;  ///< of these, placed by their nodes' system clocks for want of
                                 ///< anything better
  double error_ns = 0.0;         ///< of the others: no moment of theirs is further off (DomainTime)

  bool operator==(const ClockFacts&) const = default;
};

/// What ranks told each other at steps. Times are sums over steps, of each the greatest of all
/// ranks.
struct StepTalkRow {
  std::uint64_t steps = 0;    ///< of which all ranks heard; 0: they did not talk
  std::uint64_t skipped = 0;  ///< of these, whose statistics could not be used
  std::uint64_t step_ns = 0;
  std::uint64_t own_ns = 0;   ///< ours: statistics of tensors, and talking
  std::uint64_t wait_ns = 0;  ///< of it waiting for other ranks

  bool operator==(const StepTalkRow&) const = default;
};

/// Ranks that reached neither MPI_Finalize nor MPI_Abort.
struct OpenEndFacts {
  std::string
      text;  ///< sentences: where their records stop, and which ended first; empty: there are none
  std::vector<std::int32_t> first;  ///< those that ended first, as far as the traces show it
  std::string evidence;             ///< what shows it: "awaited" …

  bool operator==(const OpenEndFacts&) const = default;
};

struct RunReport {
  std::string version;  ///< MegaScope's
  std::string run_id;
  std::string job;
  std::vector<LauncherFact>
      launcher;       ///< ids of job and step; of each name that of the lowest rank
  std::string world;  ///< ProcessInfo::world, parent_world
  std::string parent_world;
  std::string mpi_library;
  std::uint8_t interfaces = 0;          ///< through which MPI was called: kInterfaceC …
  std::vector<std::string> unrecorded;  ///< procedures that were called in some rank and cannot be
                                        ///< recorded: "mpi_send_f08_"
  std::vector<std::string> programs;    ///< distinct command lines, that of the lowest rank first
  std::int32_t world_size = 0;
  std::int64_t start_realtime_ns = 0;  ///< since the epoch; 0 if not known
  std::vector<std::string> nodes;
  std::vector<RankRow> ranks;          ///< ascending; ranks without a trace are missing
  std::vector<FunctionRow> functions;  ///< ascending name
  std::vector<CommRow> comms;          ///< ascending (kind, global_name)
  std::vector<FileRow> files;          ///< ascending name
  std::vector<PlaceRow>
      places;  ///< ascending (module, offset, build, function); empty unless places were recorded
  std::vector<RegionRow> regions;  ///< ascending name
  std::vector<PairRow> pairs;      ///< the heaviest, by bytes
  std::uint64_t pair_count = 0;    ///< of all pairs that exchanged messages
  SizeTotals messages;             ///< of all pairs
  std::array<SizeTotals, kSizeClassCount> message_sizes{};
  std::array<SizeTotals, kSizeClassCount>
      collective_sizes{};           ///< by bytes sent + received of a call; "messages" are calls
  std::vector<WaitRow> waits;       ///< the longest, by time
  std::vector<PendingRow> pending;  ///< the longest, by time
  std::uint64_t pending_count = 0;
  Losses losses{};
  /// False when losses also miss in the sums above: they were made from a trace that has not all
  /// calls.
  bool covers_all_calls = true;
  std::vector<std::string> notes;  ///< sentences for the user

  // Only rank 0 fills these in, when all is merged; they do not travel.
  std::string folder;  ///< the run folder as the user can type it; empty: not to be mentioned
  std::string report_command;  ///< prints this report again; empty: not to be mentioned
  std::vector<ExportRow> exports;
  ClockFacts clocks;
  OpenEndFacts open_ends;
  StepTalkRow step_talk;
  std::string verdict;             ///< that of `megascope analyze`; empty: it was not made here
  std::string verdict_command;     ///< makes it; empty: not to be mentioned
  std::string started_by;          ///< run folder of parent_world, where it was found
  std::vector<RunReport> spawned;  ///< of the worlds that this one started

  bool operator==(const RunReport&) const = default;
};

/// Adds `theirs`, of higher ranks. Associative as long as the bounds hold; beyond them the heaviest
/// rows stay.
void merge(RunReport& mine, const RunReport& theirs);

/// Brings a report that was put together by hand into its bounds and order (merge() does it
/// itself).
void bound(RunReport& report);

/// Appends what travels between ranks.
void serialize(const RunReport& report, std::vector<std::byte>& to);
/// Of bytes from anywhere: an error, or a report within the bounds.
Status parse(std::span<const std::byte> from, RunReport& report);

/// Afterwards member 0 has the report of all; the others' are unspecified. O(log size) rounds.
Status merge_up(Collective& collective, RunReport& report);

/// Communicators on which the ranks did not call the same collectives. Nothing is said of runs that
/// did not reach MPI_Finalize as a whole, or lost calls: there ranks differ in how far they came.
/// Valid as long as the report.
std::vector<const CommRow*> comms_that_differ(const RunReport& report);

/// At most 60 lines (80 where places were recorded) of at most 100 columns, ending with a newline.
/// Text from programs is made harmless for a terminal.
std::string to_text(const RunReport& report);
/// One JSON object, indented, ending with a newline. Always valid UTF-8.
std::string to_json(const RunReport& report);

}  // namespace megascope::report
