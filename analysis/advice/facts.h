#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Input of the rules: sums by rank, pattern, function, communicator and call site. Times in ns.
/// The size depends on the number of ranks, communicators and call sites, not on the length of the
/// run.
namespace megascope::advice {

/// Limits of the patterns. docs/advice.md gives the reasons.
inline constexpr std::uint64_t kSmallMessageBytes = 512;
inline constexpr std::uint32_t kSmallMessageRun = 16;  ///< messages in a row between two ranks
inline constexpr std::uint64_t kSmallBcastBytes = 4096;
inline constexpr std::uint32_t kMinBcastRun = 4;  ///< broadcasts in a row
inline constexpr std::uint64_t kTinyCollectiveBytes = 128;
inline constexpr std::uint64_t
    kEagerBytes = 64 * 1024;  ///< messages up to this size are assumed to be sent eagerly
inline constexpr std::int32_t kMinAllToAllSize = 4;  ///< members of the communicator

/// A recognised pattern of calls in one thread.
enum class Pattern : std::uint8_t {
  kSmallSends,     ///< messages up to kSmallMessageBytes in runs of kSmallMessageRun to one rank
  kSmallReceives,  ///< messages up to kSmallMessageBytes in runs of kSmallMessageRun from one rank
  kGatherBcast,  ///< MPI_Bcast directly after an MPI_Gather or MPI_Gatherv with the same root; the
                 ///< time is that of both calls
  kReduceBcast,  ///< MPI_Bcast directly after an MPI_Reduce with the same root; the time is that of
                 ///< both calls
  kBcastRun,     ///< small broadcasts of one root in runs of kMinBcastRun
  kBarrier,      ///< blocking barriers between two calls with messages or collectives, which
                 ///< synchronise anyway
  kTinyCollective,  ///< collectives with a payload up to kTinyCollectiveBytes
  kTinyFollower,    ///< kTinyCollective directly after another kTinyCollective
  kPoll,            ///< unsuccessful tests and probes, without work in between
  kFileTransfer,    ///< independent reads and writes of files
  kMessageCalls,    ///< all calls with messages; function and site are not kept
  kCount
};
inline constexpr std::size_t kPatternCount = static_cast<std::size_t>(Pattern::kCount);

inline constexpr std::uint32_t kNoIndex = 0xFFFFFFFF;

/// Sums of the calls of one pattern, function, communicator and call site in one rank.
struct Row {
  Pattern pattern = Pattern::kCount;
  std::uint32_t function = kNoIndex;  ///< index in Facts::functions
  std::uint32_t comm = kNoIndex;      ///< index in Facts::comms
  std::uint32_t site = kNoIndex;      ///< index in Facts::sites; kNoIndex: not recorded
  std::uint64_t count = 0;            ///< number of calls, or of messages
  std::uint64_t root_count = 0;  ///< broadcasts in which this rank was the root and did no work
                                 ///< since the previous call
  std::uint64_t time_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t
      bytes_before = 0;  ///< payload of the call before the broadcast: one process's block
};

/// A rank that forwards messages: a blocking receive and a blocking send in direct succession, with
/// different partners and equal size.
struct Relay {
  std::uint32_t comm = kNoIndex;
  std::int32_t from = -1;  ///< world ranks
  std::int32_t to = -1;
  std::uint64_t count = 0;
  std::uint64_t time_ns = 0;  ///< time in the first of the two calls
};

/// A rank that sends to all other members of a communicator, one message after the other.
struct Rounds {
  std::uint64_t count = 0;  ///< completed rounds. In a round, the rank sends to every other member,
                            ///< with at most twice as many messages as there are other members
  std::uint64_t message_count = 0;  ///< messages in these rounds
  std::uint64_t sent_count = 0;     ///< all messages that it sent on the communicator
};

/// Messages for which one end waited for the other. The time of a message begins when both ends
/// have started, and ends with the waiting call.
struct Hops {
  std::uint64_t count = 0;
  std::uint64_t time_ns = 0;
};

/// Unexpected messages: sent before their receive was posted.
struct UnexpectedQueue {
  std::uint64_t message_count = 0;     ///< number of received messages up to kEagerBytes
  std::uint64_t unexpected_count = 0;  ///< number of these messages that were sent before the
                                       ///< receive was posted
  std::uint64_t
      held_ns = 0;  ///< sum of the times from the send of a message to the post of its receive
  double held_byte_ns = 0.0;      ///< sum of these times, each multiplied by the message's bytes
  std::uint32_t comm = kNoIndex;  ///< communicator of the last unexpected message
};

/// The direct waits of other ranks for one rank.
struct WaitedFor {
  std::uint64_t count = 0;
  std::uint64_t wait_ns = 0;
  std::uint32_t waiter_count = 0;  ///< ranks
};

/// Kinds of waits that the rules distinguish.
enum class Waiting : std::uint8_t {
  kLateSender,    ///< a receive waits for its send
  kLateReceiver,  ///< a send waits for its receive
  kBarrier,       ///< a member of a barrier waits for the last one
  kOther,         ///< all other wait states (WaitKind)
  kCount
};
inline constexpr std::size_t kWaitingCount = static_cast<std::size_t>(Waiting::kCount);

/// The facts of one rank.
struct RankFacts {
  std::int32_t world_rank = 0;
  std::string host;
  std::uint64_t wall_ns = 0;  ///< sum over threads
  std::uint64_t mpi_ns = 0;
  double blocked_ns = -1.0;  ///< time neither on a core nor waiting for one; < 0: not known
  std::vector<Row> rows;
  std::vector<Relay> receive_then_send;
  std::vector<Relay> send_then_receive;
  std::map<std::uint32_t, Rounds>
      all_to_all;  ///< by index in Facts::comms; only communicators with completed rounds
  UnexpectedQueue queue;
  Hops late_sends;     ///< messages for which this rank, the receiver, waited
  Hops late_receives;  ///< messages for which this rank, the sender, waited
  std::array<WaitedFor, kWaitingCount> waited_for{};
  WaitedFor waited_for_at_all;  ///< all kinds together
};

/// Collectives up to kTinyCollectiveBytes. The member with the shortest time in a collective does
/// not wait for others, so its time is the cost of the operation.
struct TinyWire {
  std::uint64_t count = 0;
  std::uint64_t member_ns = 0;  ///< sum over the collectives of the shortest time of a member,
                                ///< multiplied by the number of members
};

struct CommFacts {
  std::string name;  ///< name for texts, for example "`MPI_COMM_WORLD`"
  std::int32_t size = 0;
};

/// The facts of a run. Indices in rows refer to its tables.
struct Facts {
  std::vector<RankFacts> ranks;  ///< ascending world rank
  std::vector<std::string> functions;
  std::vector<CommFacts> comms;
  std::vector<std::string> sites;  ///< "solve (heat.c:42)", once for all ranks
  std::map<std::pair<std::uint32_t, std::uint32_t>, TinyWire> tiny_wires;  ///< by comm and function
  std::uint64_t wall_ns = 0;  ///< sum over ranks: 100 % of the run
};

}  // namespace megascope::advice
