#pragma once

#include "core/base/node_cpus.h"
#include "core/record/ids.h"
#include "core/record/loss_cause.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope {

/// Purpose of a region; OTF2 RegionRole.
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

/// Programming model that a region belongs to; OTF2 Paradigm.
enum class Paradigm : std::uint8_t { kUser, kMpi, kMeasurement };

/// OTF2 CollectiveOp. kNone for a region that is not a collective. Nonblocking, neighbourhood and
/// v/w variants have the operation of their blocking form (MPI_Ialltoallw: kAlltoallw). The
/// creation of communicators is a collective, too.
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
  std::string name;  ///< name for users: "MPI_Allreduce"
  RegionRole role = RegionRole::kUnknown;
  Paradigm paradigm = Paradigm::kMpi;
  CollectiveOp collective_op = CollectiveOp::kNone;
  std::string group;  ///< group of the function table in lower case ("p2p", "coll"), for selection
                      ///< and display

  bool operator==(const RegionDefinition&) const = default;
};

/// A sequence of `count` ranks that starts with `first`; consecutive ranks differ by `stride`.
struct RankRun {
  std::int32_t first = 0;
  std::int32_t stride = 1;
  std::int32_t count = 0;

  bool operator==(const RankRun&) const = default;
};

/// Kind of a communicator.
enum class CommKind : std::uint8_t {
  kWorld,  ///< MPI_COMM_WORLD
  kSelf,   ///< MPI_COMM_SELF
  kIntra,  ///< another intracommunicator
  kInter,  ///< an intercommunicator
  kRemote  ///< a communicator that includes processes of another world, for example one made by
           ///< MPI_Comm_spawn. Calls on it are recorded, but not its messages and collectives
};

/// A communicator as one of its members sees it.
struct CommDefinition {
  CommId id = kNoComm;
  CommId parent = kNoComm;  ///< in the same process; kNoComm for world, self and unknown parents
  std::uint64_t
      global_name = 0;  ///< equal in all members, and different elsewhere with high probability
  CommKind kind = CommKind::kIntra;
  std::string name;  ///< name set by MPI_Comm_set_name, else a generated one ("MPI_COMM_WORLD",
                     ///< "comm 3 of ...")
  std::int32_t my_rank = 0;      ///< rank of this process in the communicator
  std::vector<RankRun> members;  ///< world ranks in rank order. kInter: the local group. kRemote:
                                 ///< the members of this world
  std::vector<RankRun>
      remote_members;  ///< kInter: world ranks of the remote group. kRemote: n ranks from 0 for n
                       ///< members in other worlds; only the number is meaningful

  bool operator==(const CommDefinition&) const = default;
};

/// Access mode of a file: a set of flags. MPI's own values differ between libraries.
enum FileMode : std::uint16_t {
  kFileModeNone = 0,  ///< not opened: the name of a deleted file, or unknown
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

/// An opened file as one of the processes that opened it sees it, or a file name only.
struct FileDefinition {
  FileId id = kNoFile;
  CommId comm = kNoComm;  ///< communicator that opened it; kNoComm if the open was not recorded
  std::uint64_t global_name = 0;  ///< equal in all processes that opened it together, and different
                                  ///< elsewhere with high probability
  std::uint16_t mode = kFileModeNone;  ///< FileMode flags
  std::string name;                    ///< as the application passed it

  bool operator==(const FileDefinition&) const = default;
};

/// Origin of a window's memory, as the MPI_WIN_FLAVOR_ constant of the same name.
enum class WindowFlavor : std::uint8_t { kCreate, kAllocate, kDynamic, kShared };

/// A window of one-sided communication as one of its members sees it.
struct WindowDefinition {
  WinId id = kNoWin;
  CommId comm = kNoComm;  ///< communicator that the window was created on
  std::uint64_t
      global_name = 0;  ///< equal in all members, and different elsewhere with high probability
  WindowFlavor flavor = WindowFlavor::kCreate;
  std::string
      name;  ///< name set by MPI_Win_set_name, else a generated one ("MPI_Win_create #1 of ...")
  std::uint64_t size_bytes = 0;          ///< size of this process's memory
  std::uint32_t displacement_bytes = 1;  ///< displacement unit

  bool operator==(const WindowDefinition&) const = default;
};

/// The group argument of an MPI_Win_post or MPI_Win_start.
struct GroupDefinition {
  GroupId id = kNoGroup;
  std::vector<RankRun> members;  ///< world ranks in rank order

  bool operator==(const GroupDefinition&) const = default;
};

/// A counter that the application defines.
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
  bool lacks_beginning = false;  ///< its first calls were dropped (policy flight); determined by
                                 ///< the reader
  bool has_ended = false;        ///< the thread ended before the process; determined by the reader

  bool operator==(const LocationDefinition&) const = default;
};

enum class ClockKind : std::uint8_t { kTsc, kMonotonic };

/// One moment on three clocks.
struct ClockPoint {
  std::uint64_t ticks = 0;        ///< clock of the trace
  std::int64_t monotonic_ns = 0;  ///< CLOCK_MONOTONIC
  std::int64_t realtime_ns = 0;   ///< CLOCK_REALTIME, since the epoch

  bool operator==(const ClockPoint&) const = default;
};

/// A measurement of another process's clock. This process sent a request at sent_ticks and received
/// the answer at received_ticks, both on its own clock. In between, the other process read
/// peer_ticks on its clock.
struct ClockSample {
  std::uint64_t peer_domain = 0;  ///< clock_domain_id() of the other process
  std::uint64_t sent_ticks = 0;
  std::uint64_t received_ticks = 0;
  std::uint64_t peer_ticks = 0;

  bool operator==(const ClockSample&) const = default;
};

/// How the recording of a process ended, according to its trace.
enum class EndState : std::uint8_t {
  kRunning,    ///< it has not ended, or the process was killed
  kFinalized,  ///< normally
  kAborted,    ///< the application called MPI_Abort
  kRecovered   ///< the process was killed; its trace was recovered later
};

/// A variable that the launcher set for a process: {"SLURM_JOB_ID", "1234"}.
struct LauncherFact {
  std::string name;
  std::string value;

  bool operator==(const LauncherFact&) const = default;
};
inline constexpr char kLauncherFactPrefix[] = "SLURM_";
/// Returns the value of a variable; empty if it is not in the list.
const std::string& launcher_fact(const std::vector<LauncherFact>& facts, std::string_view name);

/// Grid coordinate of a process in one dimension of a parallel program: {"pp", 3, 4} is the last of
/// four pipeline stages. Processes whose other coordinates are equal form a group of this
/// dimension.
struct ParallelIndex {
  std::string name;  ///< "dp", "tp", "pp" or another name: letters, digits, '-' and '_'
  std::int32_t index = 0;
  std::int32_t size = 1;

  bool operator==(const ParallelIndex&) const = default;
};
/// Writes and parses the stored form, "pp 3 4". parse() returns false if the text is malformed.
std::string to_text(const ParallelIndex& parallel);
bool parse(std::string_view text, ParallelIndex& parallel);
/// Adds a coordinate. If `all` has a coordinate in the same dimension, replaces it.
void set_parallel(std::vector<ParallelIndex>& all, ParallelIndex parallel);

/// Distinguishes a process from other processes with the same pid: on other machines, in other PID
/// namespaces, or at other times. If all members are empty, the identity was not recorded (traces
/// of version 0.1, synthetic runs).
struct ProcessIdentity {
  std::string boot_id;              ///< /proc/sys/kernel/random/boot_id
  std::uint64_t pid_namespace = 0;  ///< inode of /proc/self/ns/pid
  std::uint64_t start_ticks = 0;    ///< start time of the process, in clock ticks since boot: field
                                    ///< 22 of /proc/self/stat

  bool operator==(const ProcessIdentity&) const = default;
};

/// The launcher's names of the worlds of a process; empty: unknown.
struct WorldNames {
  std::string name;    ///< of its MPI_COMM_WORLD
  std::string parent;  ///< of the world that spawned this one (MPI_Comm_spawn)

  bool operator==(const WorldNames&) const = default;
};

/// The clock of a process, and what relates it to other clocks.
struct ProcessClock {
  ClockKind kind = ClockKind::kTsc;
  std::string
      domain;  ///< processes with equal texts share the clock: boot id, time namespace, clock
  std::vector<ClockPoint> points;    ///< in order of time; at least one
  std::vector<ClockSample> samples;  ///< measurements that this process made for its clock domain,
                                     ///< in order of time; else empty
};

/// Properties of one process (rank) of a run.
struct ProcessInfo {
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;
  std::int64_t pid = 0;  ///< in its own PID namespace
  ProcessIdentity identity;
  std::string run_id;
  std::string host;     ///< SLURMD_NODENAME, else the host name
  std::string program;  ///< path of the executable
  std::string command_line;
  std::string mpi_library;             ///< first line of MPI_Get_library_version()
  std::string job;                     ///< "<job>.<step>" under Slurm, else empty
  std::vector<LauncherFact> launcher;  ///< ids of job, step and node under Slurm, else empty
  std::vector<ParallelIndex>
      parallel;               ///< grid coordinates of the process, as far as they are known
  std::string run_directory;  ///< absolute path that was requested; rank 0 may have created
                              ///< "<run_directory>-2" instead; empty: only rank 0 knows it
  WorldNames world;
  int thread_level = 0;  ///< thread level provided by MPI, from 0 (MPI_THREAD_SINGLE) to 3
                         ///< (MPI_THREAD_MULTIPLE)
  ProcessClock clock;
  std::uint64_t start_ticks = 0;  ///< start of recording
  std::uint64_t end_ticks = 0;    ///< end of recording, or the last record
  EndState end_state = EndState::kRunning;
  bool is_standalone = false;
  std::uint8_t interfaces = 0;  ///< language interfaces that the process used: kInterfaceC and
                                ///< others, as bits
  std::vector<std::string>
      unrecorded;  ///< procedures that were called and cannot be recorded: "mpi_send_f08_"
  bool has_message_gaps = false;     ///< some messages were not recorded, so that the order of
                                     ///< messages is unknown
  std::uint64_t overhead_ticks = 0;  ///< measurement overhead outside of the recorded calls
  NodeCpus cpus;  ///< processors at the start of recording; not recorded if cpus.cores is empty
};

/// A call site: the place in the application that called MPI. function, file and line are set if
/// symbols were looked up.
struct CallSiteDefinition {
  std::uint32_t id = 0;
  std::string module;        ///< path of the program or library; empty: code outside of any
  std::uint64_t offset = 0;  ///< of the return address in the module
  std::string function;      ///< may be empty
  std::string file;          ///< may be empty
  std::uint32_t line = 0;    ///< 0: unknown
  std::string build_id;      ///< build id of the module, in hexadecimal; empty: none

  bool operator==(const CallSiteDefinition&) const = default;
};
/// Formats a call site: "solve (heat.c:42)", "solve (heat+0x1a2b)", "heat+0x1a2b", or "0x7f001a2b"
/// for code outside of any module.
std::string place_of(const CallSiteDefinition& site);

/// The language interfaces through which MPI was called, as bits.
inline constexpr std::uint8_t kInterfaceC = 1;
inline constexpr std::uint8_t kInterfaceFortran = 2;    ///< mpif.h or `use mpi`
inline constexpr std::uint8_t kInterfaceFortran08 = 4;  ///< `use mpi_f08`

/// All definitions in one process's trace.
struct ProcessDefinitions {
  ProcessInfo info;
  std::vector<RegionDefinition> regions;      ///< ascending id
  std::vector<CommDefinition> comms;          ///< ascending id, without holes
  std::vector<FileDefinition> files;          ///< ascending id, without holes
  std::vector<LocationDefinition> locations;  ///< ascending id, without holes
  std::vector<WindowDefinition> windows;      ///< ascending id, without holes
  std::vector<GroupDefinition> groups;        ///< ascending id, without holes
  std::vector<CounterDefinition> counters;    ///< ascending id, without holes
  std::vector<std::string> tensors;           ///< tensor names, by TensorId
  std::vector<CallSiteDefinition>
      call_sites;  ///< ascending id, without holes; empty unless call sites are recorded
  Losses losses{};

  /// Returns a definition; nullptr if the trace does not have it.
  const RegionDefinition* region(RegionId id) const;
  const CommDefinition* comm(CommId id) const { return id < comms.size() ? &comms[id] : nullptr; }
  const FileDefinition* file(FileId id) const { return id < files.size() ? &files[id] : nullptr; }
  const WindowDefinition* window(WinId id) const {
    return id < windows.size() ? &windows[id] : nullptr;
  }
};

/// Returns whether all members of the communicator have the same global name for it. Returns false
/// if a call that was not recorded created the communicator or one of its ancestors.
bool has_sure_name(const ProcessDefinitions& process, const CommDefinition& comm);

/// Returns the ranks of a list of runs, in order.
std::vector<std::int32_t> expand(const std::vector<RankRun>& runs);
/// Returns the list of ranks as runs. Each run, from the first on, is as long as possible.
std::vector<RankRun> compress(const std::vector<std::int32_t>& ranks);
/// Returns the number of ranks in the runs.
std::int64_t rank_count(const std::vector<RankRun>& runs);

}  // namespace megascope
