#pragma once

#include "core/base/node_cpus.h"
#include "core/record/ids.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope {

/// What a region is for; OTF2 RegionRole.
enum class RegionRole : std::uint8_t {
  kUnknown,
  kFunction,
  kPointToPoint,
  kCollBarrier,
  kCollOneToAll,
  kCollAllToOne,
  kCollAllToAll,
  kCollOther,
  kFileIo,
  kRma,
  kDataTransfer,
  kArtificial,
  kCode,
};

/// Whose region it is; OTF2 Paradigm.
enum class Paradigm : std::uint8_t { kUser, kMpi, kMeasurement };

/// OTF2 CollectiveOp; `kNone` for a region that is no collective. Nonblocking, neighbourhood and
/// v/w variants have the operation of their plain form (MPI_Ialltoallw: kAlltoallw). Creation of
/// communicators is a collective as well.
enum class CollectiveOp : std::uint8_t {
  kNone,
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kAllreduce,
  kReduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kCreateHandle,
  kDestroyHandle,
};

struct RegionDefinition {
  RegionId id = kNoRegion;
  std::string name;  ///< as the user knows it: "MPI_Allreduce"
  RegionRole role = RegionRole::kUnknown;
  Paradigm paradigm = Paradigm::kMpi;
  CollectiveOp collective_op = CollectiveOp::kNone;
  std::string
      group;  ///< the table's group in lower case ("p2p", "coll"); for selection and for people

  bool operator==(const RegionDefinition&) const = default;
};

/// Ranks first, first + stride, … (`count` of them).
struct RankRun {
  std::int32_t first = 0;
  std::int32_t stride = 1;
  std::int32_t count = 0;

  bool operator==(const RankRun&) const = default;
};

/// kRemote: reaches into another world (MPI_Comm_spawn, MPI_Comm_connect …), an intercommunicator
/// or what was made from one. Calls name it; messages and collectives on it are not recorded.
enum class CommKind : std::uint8_t { kWorld, kSelf, kIntra, kInter, kRemote };

/// A communicator as one of its members sees it.
struct CommDefinition {
  CommId id = kNoComm;
  CommId parent = kNoComm;  ///< in the same process; kNoComm for world, self and of unknown descent
  std::uint64_t
      global_name = 0;  ///< equal in all members, and with high probability in nobody else
  CommKind kind = CommKind::kIntra;
  std::string name;  ///< MPI_Comm_set_name, else what the library makes up ("MPI_COMM_WORLD", "comm
                     ///< 3 of …")
  std::int32_t my_rank = 0;      ///< in this communicator
  std::vector<RankRun> members;  ///< world ranks in rank order; of the local group for kInter; of
                                 ///< this world for kRemote
  std::vector<RankRun> remote_members;  ///< kInter: of the remote group. kRemote: as many as are of
                                        ///< other worlds, from 0

  bool operator==(const CommDefinition&) const = default;
};

/// How a file was opened: a set of flags. MPI's own values differ between libraries.
enum FileMode : std::uint16_t {
  kFileModeNone = 0,  ///< not opened: a name that was deleted, or nobody knows
  kFileModeRead = 1,
  kFileModeWrite = 2,
  kFileModeCreate = 4,
  kFileModeExclusive = 8,
  kFileModeDeleteOnClose = 16,
  kFileModeUniqueOpen = 32,
  kFileModeSequential = 64,
  kFileModeAppend = 128,
};
inline constexpr std::uint16_t kAllFileModes = 255;

/// An opening of a file as one of the processes that took part sees it; or just a name.
struct FileDefinition {
  FileId id = kNoFile;
  CommId comm = kNoComm;               ///< on which it was opened; kNoComm when that was not seen
  std::uint64_t global_name = 0;       ///< equal in all that opened it together, and with high
                                       ///< probability nowhere else
  std::uint16_t mode = kFileModeNone;  ///< FileMode flags
  std::string name;                    ///< as the program wrote it

  bool operator==(const FileDefinition&) const = default;
};

/// Who provides a window's memory, and how. MPI_WIN_FLAVOR_CREATE ….
enum class WindowFlavor : std::uint8_t { kCreate, kAllocate, kDynamic, kShared };

/// A window of one-sided communication as one of its members sees it.
struct WindowDefinition {
  WinId id = kNoWin;
  CommId comm = kNoComm;  ///< that it was made on
  std::uint64_t
      global_name = 0;  ///< equal in all members, and with high probability in nobody else
  WindowFlavor flavor = WindowFlavor::kCreate;
  std::string
      name;  ///< MPI_Win_set_name, else what the library makes up ("MPI_Win_create #1 of …")
  std::uint64_t size_bytes = 0;          ///< of this process's part
  std::uint32_t displacement_bytes = 1;  ///< the unit in which displacements count

  bool operator==(const WindowDefinition&) const = default;
};

/// A group that an MPI_Win_post or MPI_Win_start names.
struct GroupDefinition {
  GroupId id = kNoGroup;
  std::vector<RankRun> members;  ///< world ranks in rank order

  bool operator==(const GroupDefinition&) const = default;
};

/// What a program counts or measures, as it names it.
struct CounterDefinition {
  CounterId id = 0;
  std::string name;
  std::string unit;  ///< may be empty

  bool operator==(const CounterDefinition&) const = default;
};

struct LocationDefinition {
  LocationId id = 0;
  std::string name;                   ///< "main thread", "thread 2"
  std::int64_t system_thread_id = 0;  ///< gettid()
  bool is_main = false;               ///< the thread that called MPI_Init
  bool lacks_beginning = false;  ///< its first calls were given up (policy flight); found out when
                                 ///< reading
  bool has_ended = false;        ///< the thread ended before the process; found out when reading

  bool operator==(const LocationDefinition&) const = default;
};

/// Why a record or a fact is not in the trace. Append only: stored in traces.
enum class LossCause : std::uint8_t {
  kBufferFull,      ///< MEGASCOPE_BUFFER_SIZE reached (policy stop) or overwritten (policy flight)
  kStorage,         ///< no space, quota, file-size limit, I/O error: recording to disk had stopped
  kNoBuffer,        ///< a thread could not get a buffer
  kUnknownRequest,  ///< a completion of a request whose start was not seen
  kSizeUnknown,     ///< a received size that MPI did not tell (more statuses than we keep)
  kForeign,         ///< calls that arrived after recording had ended
  kDamaged,         ///< records that the reader could not read
  kUnbalanced,      ///< regions or steps that the program left without having entered them, or the
                    ///< other way round
  kRefused,  ///< what the program told in a way that cannot be recorded (megascope_last_error)
  kCount
};
inline constexpr std::size_t kLossCauseCount = static_cast<std::size_t>(LossCause::kCount);
using Losses = std::array<std::uint64_t, kLossCauseCount>;

/// "buffer_full" …: the name of the cause in reports; stable.
std::string_view loss_cause_name(LossCause cause);

enum class ClockKind : std::uint8_t { kTsc, kMonotonic };

/// The same moment on three clocks.
struct ClockPoint {
  std::uint64_t ticks = 0;        ///< of the trace's clock
  std::int64_t monotonic_ns = 0;  ///< CLOCK_MONOTONIC
  std::int64_t realtime_ns = 0;   ///< CLOCK_REALTIME, since the epoch

  bool operator==(const ClockPoint&) const = default;
};

/// A question to the clock of another process: asked at sent_ticks, answered by received_ticks
/// (both of the own clock), and in between the other clock showed peer_ticks.
struct ClockSample {
  std::uint64_t peer_domain = 0;  ///< hash of the other's clock domain
  std::uint64_t sent_ticks = 0;
  std::uint64_t received_ticks = 0;
  std::uint64_t peer_ticks = 0;

  bool operator==(const ClockSample&) const = default;
};

/// How a process's part of the run ended, as its trace tells.
enum class EndState : std::uint8_t { kRunning, kFinalized, kAborted, kRecovered };

/// What the job's launcher says of a process, under its own name: {"SLURM_JOB_ID", "1234"}.
struct LauncherFact {
  std::string name;
  std::string value;

  bool operator==(const LauncherFact&) const = default;
};
inline constexpr char kLauncherFactPrefix[] = "SLURM_";
/// The value of the fact of this name, or empty.
const std::string& launcher_fact(const std::vector<LauncherFact>& facts, std::string_view name);

/// Where a process stands along one dimension of a parallel program: {"pp", 3, 4} is the last of
/// four pipeline stages. Processes whose other indices are equal are the group of this dimension.
struct ParallelIndex {
  std::string name;  ///< "dp", "tp", "pp" or the program's own: letters, digits, '-' and '_'
  std::int32_t index = 0;
  std::int32_t size = 1;

  bool operator==(const ParallelIndex&) const = default;
};
/// "pp 3 4", as it is stored, and the inverse: false of what is none.
std::string to_text(const ParallelIndex& parallel);
bool parse(std::string_view text, ParallelIndex& parallel);
/// Adds a place, or moves the process to it in a dimension that is there.
void set_parallel(std::vector<ParallelIndex>& all, ParallelIndex parallel);

/// One process (a rank) of the run.
/// Distinguishes a process from others with the same pid: on other machines, in other PID
/// namespaces, earlier or later. All empty: not recorded (traces of version 0.1, synthetic ones).
struct ProcessIdentity {
  std::string boot_id;              ///< /proc/sys/kernel/random/boot_id as the process reads it
  std::uint64_t pid_namespace = 0;  ///< inode of /proc/self/ns/pid
  std::uint64_t start_ticks = 0;  ///< start of the process, in clock ticks since boot: field 22 of
                                  ///< /proc/self/stat

  bool operator==(const ProcessIdentity&) const = default;
};

struct ProcessInfo {
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;
  std::int64_t pid = 0;  ///< in its own PID namespace
  ProcessIdentity identity;
  std::string run_id;
  std::string host;     ///< node as the user knows it: SLURMD_NODENAME, else the host name
  std::string program;  ///< path of the executable
  std::string command_line;
  std::string mpi_library;             ///< first line of MPI_Get_library_version
  std::string job;                     ///< "<job>.<step>" under Slurm, else empty
  std::vector<LauncherFact> launcher;  ///< ids of job, step and node under Slurm, else empty
  std::vector<ParallelIndex>
      parallel;            ///< its place in the program's parallel groups, where they are known
  std::string run_folder;  ///< absolute; the one asked for: rank 0 may have made "<run_folder>-2";
                           ///< empty: only rank 0 knows
  std::string world;       ///< what the launcher calls this MPI_COMM_WORLD; empty: it does not tell
  std::string
      parent_world;  ///< the same of the world that started this one by MPI_Comm_spawn; else empty
  int thread_level = 0;  ///< 0 single … 3 multiple, as provided
  ClockKind clock = ClockKind::kTsc;
  std::string clock_domain;       ///< processes with equal domains share the clock: boot id, time
                                  ///< namespace, clock
  std::uint64_t start_ticks = 0;  ///< when recording began
  std::uint64_t end_ticks = 0;    ///< of the last record or of the end of recording
  std::vector<ClockPoint> clock_points;  ///< in time order; at least one
  std::vector<ClockSample>
      clock_samples;  ///< of the process that asks for its clock domain, in time order; else empty
  EndState end_state = EndState::kRunning;
  bool is_solo = false;
  std::uint8_t interfaces = 0;  ///< kInterfaceC …
  std::vector<std::string>
      unrecorded;  ///< procedures that were called and cannot be recorded: "mpi_send_f08_"
  bool has_message_gaps = false;  ///< recording was off for some messages: their order says nothing
  std::uint64_t overhead_ticks = 0;  ///< time the library itself spent outside of the per-call path
  NodeCpus cpus;  ///< as they were when recording began; cores empty: not recorded
};

/// A place in the program from which MPI was called. Where symbols have been looked up, function,
/// file and line are set.
struct CallSiteDefinition {
  std::uint32_t id = 0;
  std::string module;        ///< path of the program or library; empty: code that belongs to none
  std::uint64_t offset = 0;  ///< of the return address in it
  std::string function;      ///< may be empty
  std::string file;          ///< may be empty
  std::uint32_t line = 0;    ///< 0: not known
  std::string build_id;      ///< of the module, in hexadecimal; empty: it has none

  bool operator==(const CallSiteDefinition&) const = default;
};
/// "solve (heat.c:42)", "solve (heat+0x1a2b)", "heat+0x1a2b", or "0x7f001a2b" of code without a
/// module.
std::string place_of(const CallSiteDefinition& site);

/// The interfaces through which MPI was called, as bits.
inline constexpr std::uint8_t kInterfaceC = 1;
inline constexpr std::uint8_t kInterfaceFortran = 2;    ///< mpif.h or `use mpi`
inline constexpr std::uint8_t kInterfaceFortran08 = 4;  ///< `use mpi_f08`

/// All that one process's trace defines.
struct ProcessDefinitions {
  ProcessInfo info;
  std::vector<RegionDefinition> regions;      ///< ascending id
  std::vector<CommDefinition> comms;          ///< ascending id, without holes
  std::vector<FileDefinition> files;          ///< ascending id, without holes
  std::vector<LocationDefinition> locations;  ///< ascending id, without holes
  std::vector<WindowDefinition> windows;      ///< ascending id, without holes
  std::vector<GroupDefinition> groups;        ///< ascending id, without holes
  std::vector<CounterDefinition> counters;    ///< ascending id, without holes
  std::vector<std::string> tensors;           ///< names, by TensorId
  std::vector<CallSiteDefinition>
      call_sites;  ///< ascending id, without holes; empty unless asked for
  Losses losses{};

  /// nullptr when the trace does not define it.
  const RegionDefinition* region(RegionId id) const;
  const CommDefinition* comm(CommId id) const { return id < comms.size() ? &comms[id] : nullptr; }
  const FileDefinition* file(FileId id) const { return id < files.size() ? &files[id] : nullptr; }
  const WindowDefinition* window(WinId id) const {
    return id < windows.size() ? &windows[id] : nullptr;
  }
};

/// Does the communicator's global name mean the same one in all its members? Not when it was made
/// out of our sight, or from such a one.
bool has_sure_name(const ProcessDefinitions& process, const CommDefinition& comm);

/// World ranks of a list of runs, in order.
std::vector<std::int32_t> expand(const std::vector<RankRun>& runs);
/// The inverse: maximal runs, greedily.
std::vector<RankRun> compress(const std::vector<std::int32_t>& ranks);
/// Number of ranks in the runs.
std::int64_t rank_count(const std::vector<RankRun>& runs);

}  // namespace megascope
