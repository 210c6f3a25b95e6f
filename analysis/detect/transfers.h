#pragma once

#include "analysis/detect/reduction.h"
#include "core/record/id_map.h"

#include <cstdint>
#include <vector>

namespace megascope::detect {

/// One end of a message, by ranks' indices.
struct Envelope {
  std::uint64_t comm_name = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
};

/// What a rank's calls said of messages, in order, until it is told to Transfers: ranks are read by
/// several threads.
class TransferLog {
 public:
  void sent(const Envelope& envelope, std::uint64_t time_ns) {
    entries_.push_back({envelope, time_ns, 0, 0, kSent});
  }
  void received(const Envelope& envelope, std::uint64_t posted_ns, std::uint64_t entered_ns,
                std::uint64_t done_ns, std::size_t step) {
    entries_.push_back(
        {envelope, posted_ns, entered_ns, done_ns, static_cast<std::uint32_t>(step)});
    has_received_ = true;
  }
  /// The call that received these is over; operations: all that it waited for, sends too.
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
    std::uint64_t time_ns = 0;  ///< sent or posted; kEnd: operations
    std::uint64_t entered_ns = 0;
    std::uint64_t done_ns = 0;
    std::uint32_t step = 0;  ///< or kSent, kEnd
  };
  std::vector<Entry> entries_;
  bool has_received_ = false;
};

/// Sends and receives become transfer times of links: the n-th sent on a (communicator, source,
/// destination, tag) is the n-th received. Memory: what is in flight, and the links' steps.
class Transfers {
 public:
  /// Takes what is in the log out of it.
  void add(TransferLog& log);
  std::vector<Link> take_links() { return std::move(links_); }

 private:
  static constexpr std::uint32_t kAlone = 0xFFFFFFFF;
  struct Waiting {
    std::uint64_t posted_ns = 0;
    std::uint64_t entered_ns = 0;
    std::uint64_t done_ns = 0;
    std::uint32_t step = 0;
    std::uint32_t call = kAlone;
  };
  struct Channel {
    std::vector<std::uint64_t> sends;  ///< not yet received; from `send_at` on
    std::vector<Waiting> receives;     ///< whose send was not seen yet
    std::size_t send_at = 0;
    std::size_t receive_at = 0;
    std::size_t link = 0;
  };
  /// A call that waited for several operations: whose message was sent last is known when all sends
  /// are.
  struct JointCall {
    std::uint32_t missing = 0;
    std::uint64_t last_sent_ns = 0;
    std::size_t link = 0;
    Waiting receive;
  };
  struct Received {
    std::size_t channel = 0;
    Waiting receive;
  };
  void sent(const Envelope& envelope, std::uint64_t time_ns);
  /// Nothing follows from it before the call is settled.
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
  std::vector<Received> received_;  ///< by the call at hand
};

}  // namespace megascope::detect
