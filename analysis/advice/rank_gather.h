#pragma once

#include "analysis/advice/facts.h"
#include "analysis/match/match_tables.h"
#include "core/base/id_map.h"
#include "core/record/event_view.h"
#include "core/record/source.h"
#include "core/record/world_ranks.h"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace megascope::advice {

/// Recognises patterns in the calls of one process. Used by one thread at a time. Calls of each
/// location must be added in order of entry. A call takes about 10 ns. Memory: at most kMaxRows
/// rows and kMaxPeers partners.
class RankGather {
 public:
  RankGather(const RecordSource& source, std::int32_t world_rank);

  void add(LocationId location, const Call& call);

  /// Rows, relays and rounds, in the process's own numbers: function is a RegionId, comm a CommId,
  /// site a CallSiteDefinition.
  struct Result {
    std::vector<Row> rows;
    std::vector<Relay> receive_then_send;
    std::vector<Relay> send_then_receive;
    std::vector<Rounds> all_to_all;  ///< by CommId
  };
  Result take();

 private:
  static constexpr std::size_t kMaxRows = 4096;
  static constexpr std::size_t kMaxPeers = 4096;
  static constexpr std::size_t kMaxRelays = 4;
  static constexpr std::size_t kKnownCount = 16;  ///< few, so that many ranks' stay in the cache

  /// Kind of a call, as far as the patterns distinguish it.
  enum class Group : std::uint8_t { kNone, kMessage, kCollective, kOther };
  struct Region {
    CollectiveOp op = CollectiveOp::kNone;
    bool is_poll = false;
    bool is_boundary = false;  ///< true: the function reads the clock, or begins or ends MPI. A
                               ///< barrier directly before or after it is needed for this purpose
                               ///< and is not reported
    bool is_variable = false;  ///< the v and w variants
  };
  /// Consecutive messages to one partner, or from one partner.
  struct Run {
    std::uint32_t length = 0;
    std::uint64_t time_ns = 0;
  };
  struct Peer {
    Run sent;
    Run received;
    std::uint32_t epoch = 0;
    std::uint32_t round = 0;
  };
  struct CommState {
    std::int32_t size = 0;
    std::int32_t my_rank = 0;
    std::uint32_t round = 1;
    std::int32_t distinct_count = 0;  ///< members that this round has sent to
    std::uint64_t round_messages = 0;
    Rounds rounds{};
    std::uint64_t call_count = 0;  ///< number of calls with messages on the communicator
    std::uint64_t call_time_ns = 0;
  };
  /// A call that communicates. Small: two of each thread are touched in every call.
  struct Event {
    std::uint64_t enter_ns = 0;
    std::uint64_t leave_ns = 0;
    std::uint64_t bytes = 0;  ///< collective: bytes of one member's block; messages: bytes of the
                              ///< first message
    CommId comm = kNoComm;
    std::int32_t
        peer = kNoPeer;  ///< collective: the root; messages: the partner of the first message
    std::uint32_t site = kNoIndex;
    std::uint32_t message_count = 0;
    RegionId region = kNoRegion;
    Group group = Group::kNone;
    CollectiveOp op = CollectiveOp::kNone;
    bool is_blocking = false;
    bool is_root = false;
    bool is_tiny = false;
    bool is_send = false;  ///< the call is a blocking send

    std::uint64_t time_ns() const { return leave_ns - enter_ns; }
  };
  static_assert(sizeof(Event) == 48);
  struct Thread {
    std::array<Event, 2>
        events;  ///< the last call that communicated, and the one that is being read
    std::uint32_t last_index = 0;
    Event barrier;  ///< a barrier that is not judged yet, because the judgement depends on the next
                    ///< call. Its group is kNone if no barrier is pending
    Run bcasts;
    std::uint64_t bcast_bytes = 0;
    std::uint32_t
        root_gaps = 0;  ///< number of gaps in the run of broadcasts in which the root did work
    std::uint64_t poll_leave_ns = 0;
  };

  Row& row(Pattern pattern, RegionId region, CommId comm, std::uint32_t site);
  Row& row_slow_path(std::uint64_t key, Pattern pattern, RegionId region, CommId comm,
                     std::uint32_t site);
  std::uint32_t site_of(const Call& call) const;
  Peer* peer_of(CommId comm, std::int32_t peer);
  void add_poll(Thread& thread, const Call& call);
  void add_facts(Event& event, const Call& call);
  void add_sent(const Event& event, events::Send send);
  void add_received(const Event& event, events::Receive receive, std::uint64_t time_ns);
  void add_to_run(Run& run, Pattern pattern, const Event& event, events::Message message,
                  std::uint64_t time_ns);
  static std::uint64_t time_of_receive(const Event& event, const Call& call);
  static void note_message(Event& event, events::Message message, bool is_blocking, bool is_send);
  static void note_request(Event& event);
  void note_collective(Event& event, const Call& call, events::Collective collective);
  void add_file(const Event& event, events::FileTransfer transfer);
  void end_call(Thread& thread, const Event& last, const Event& event);
  void add_collective(Thread& thread, const Event& last, const Event& event);
  void add_bcast(Thread& thread, const Event& last, const Event& event);
  void end_bcasts(Thread& thread, const Event& last);
  void add_relay(const Event& first, const Event& second);

  const ProcessDefinitions& definitions_;
  WorldRanks world_ranks_;
  std::vector<Region> regions_;   ///< by RegionId
  std::vector<CommState> comms_;  ///< by CommId
  std::vector<Thread> threads_;   ///< by LocationId
  bool has_sites_;
  std::uint32_t epoch_ = 1;  ///< 1 + number of collectives that the process began
  struct KnownRow {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint32_t index = 0;
  };
  std::array<KnownRow, kKnownCount> known_rows_{};
  std::unordered_map<std::uint64_t, std::uint32_t> row_index_;
  std::vector<Row> rows_;
  struct KnownPeer {
    CommId comm = kNoComm;
    std::int32_t peer = kNoPeer;
    std::uint32_t index = 0;
  };
  std::array<KnownPeer, kKnownCount> known_peers_{};
  IdMap<std::uint64_t, std::uint32_t> peer_index_;  ///< index + 1
  std::vector<Peer> peers_;
  std::vector<Relay> receive_then_send_;
  std::vector<Relay> send_then_receive_;
};

}  // namespace megascope::advice
