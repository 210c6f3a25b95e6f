#pragma once

#include "analysis/detect/reduction.h"
#include "core/base/id_map.h"

#include <cstdint>
#include <vector>

namespace megascope::detect {

/// The channel of a message (communicator, sender, receiver, tag) and its size. Ranks are indices
/// into world_ranks().
struct Envelope {
  std::uint64_t comm_name = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
};

/// The sends and receives of one rank that were not passed to Transfers yet, in order. Each rank
/// has its own object, because several threads read ranks.
class TransferLog {
 public:
  /// Adds a send. time_ns: when the sending call began.
  void sent(const Envelope& envelope, std::uint64_t time_ns) {
    entries_.push_back({envelope, time_ns, 0, 0, kSent});
  }
  /// Adds a receive. posted_ns: when it was posted; entered_ns, done_ns: begin and end of the call
  /// that completed it; step: index of the receiver's step.
  void received(const Envelope& envelope, std::uint64_t posted_ns, std::uint64_t entered_ns,
                std::uint64_t done_ns, std::size_t step) {
    entries_.push_back(
        {envelope, posted_ns, entered_ns, done_ns, static_cast<std::uint32_t>(step)});
    has_received_ = true;
  }
  /// Ends the call to which the receives since the last end_call() belong. operations: number of
  /// operations that the call waited for, including sends.
  void end_call(std::size_t operations) {
    if (has_received_) entries_.push_back({{}, operations, 0, 0, kEnd});
    has_received_ = false;
  }

 private:
  friend class Transfers;
  static constexpr std::uint32_t kSent = 0xFFFFFFFF;
  static constexpr std::uint32_t kEnd = 0xFFFFFFFE;
  struct Entry {
    Envelope envelope;
    std::uint64_t time_ns = 0;  ///< time of the send, or time at which the receive was posted.
                                ///< kEnd: number of operations
    std::uint64_t entered_ns = 0;
    std::uint64_t done_ns = 0;
    std::uint32_t step = 0;  ///< receives: the step. kSent: the entry is a send. kEnd: the entry is
                             ///< the end of a call
  };
  std::vector<Entry> entries_;
  bool has_received_ = false;
};

/// Matches sends with receives and sums up the transfer times of each link (reduction.h). On a
/// channel (communicator, source, destination, tag), the n-th message sent is the n-th received
/// (MPI-4.1 §3.5). One thread. Memory: the messages in flight, and 16 bytes a link and step.
class Transfers {
 public:
  /// Adds the entries of a log and clears it. The logs of a rank must come in order; those of
  /// different ranks in any order.
  void add(TransferLog& log);
  /// Returns the links. Call it once, after all logs.
  std::vector<Link> take_links() { return std::move(links_); }

 private:
  static constexpr std::uint32_t kAlone = 0xFFFFFFFF;
  /// A completed receive, until it is matched with its send.
  struct Waiting {
    std::uint64_t posted_ns = 0;
    std::uint64_t entered_ns = 0;
    std::uint64_t done_ns = 0;
    std::uint32_t step = 0;
    std::uint32_t call = kAlone;  ///< index into joint_calls_; kAlone: its call waited only for it
  };
  struct Channel {
    std::vector<std::uint64_t> sends;  ///< times of messages not yet received, from send_at on
    std::vector<Waiting> receives;     ///< receives without a send so far, from receive_at on
    std::size_t send_at = 0;
    std::size_t receive_at = 0;
    std::size_t link = 0;
  };
  /// A call that waited for several operations. Which message was sent last is known only when all
  /// of its receives have been matched.
  struct JointCall {
    std::uint32_t missing = 0;  ///< receives without a send so far
    std::uint64_t last_sent_ns = 0;
    std::size_t link = 0;
    Waiting receive;
  };
  struct Received {
    std::size_t channel = 0;
    Waiting receive;
  };
  void sent(const Envelope& envelope, std::uint64_t time_ns);
  /// Stores a receive until settle_call() says whether its call waited for others too.
  void received(const TransferLog::Entry& entry);
  std::size_t channel(const Envelope& envelope);
  void settle_call(std::size_t operations);
  void match(std::size_t link, std::uint64_t sent_ns, const Waiting& receive);
  void add(std::size_t link, std::uint64_t sent_ns, const Waiting& receive, bool is_alone);

  IdMap<std::uint64_t, std::uint32_t> channel_index_;  ///< 1 + index
  IdMap<std::uint64_t, std::uint32_t> link_index_;
  std::vector<Channel> channels_;
  std::vector<Link> links_;
  std::vector<JointCall> joint_calls_;
  std::vector<std::uint32_t> free_calls_;
  std::vector<Received> received_;  ///< receives of the current call
};

}  // namespace megascope::detect
