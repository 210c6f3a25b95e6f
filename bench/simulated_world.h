#pragma once

#include "core/lifecycle/tree_collective.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <ucontext.h>
#include <vector>

/// Ranks that are no processes: what travels between them is counted, for any number of ranks.
namespace megascope::bench {

/// What a link costs in modelled time.
struct Link {
  double latency_ns = 2'000;
  double bytes_per_ns = 10;
};

/// What one rank did and held.
struct RankCount {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t largest_bytes = 0;   ///< of a message sent
  std::uint64_t max_heap_bytes = 0;  ///< live at once, of what was allocated while it ran
  /// In a network where a rank sends or receives one message at a time and everything else is free:
  /// the round after its last.
  std::uint64_t rounds = 0;
  /// Its own processor time, and that of those it waited for, with the link's latency and rate.
  double modelled_ns = 0;
};

/// Runs `body` once for each rank, all in this thread: a rank runs until it waits for a message.
/// Ends the program when all wait. Memory: 128 KiB of address space a rank, of which what is
/// touched is used. Counts heap by replacing operator new.
class SimulatedWorld {
 public:
  SimulatedWorld(int size, const Link& link);
  ~SimulatedWorld();
  SimulatedWorld(const SimulatedWorld&) = delete;
  SimulatedWorld& operator=(const SimulatedWorld&) = delete;

  void run(const std::function<void(Collective&)>& body);
  const std::vector<RankCount>& counts() const { return counts_; }

  void send(int from, int to, std::span<const std::byte> message);
  void receive(int from, int to, Collective::Bytes& message);

 private:
  struct Message {
    int from;
    Collective::Bytes bytes;
    std::uint64_t round;
    double arrival_ns;
  };
  struct Rank {
    ucontext_t context{};
    std::vector<Message> waiting;
    int awaited = -1;  ///< the rank whose message it waits for
    bool has_ended = false;
  };

  static void enter(unsigned high, unsigned low);
  void begin(int rank);
  void resume(int rank);
  /// Adds the processor time since the last call to the running rank.
  void charge_time();

  Link link_;
  std::vector<Rank> ranks_;
  std::vector<RankCount> counts_;
  std::deque<int> ready_;
  std::byte* stacks_ = nullptr;
  ucontext_t scheduler_{};
  const std::function<void(Collective&)>* body_ = nullptr;
  int running_ = -1;
  double charged_until_ns_ = 0;
};

}  // namespace megascope::bench
