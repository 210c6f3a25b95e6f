#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

namespace megascope::advice {

/// Finds receivers that post their receives late, so that messages queue up.
void find_unexpected_messages(const Facts& facts, Findings& found) {
  constexpr double kMinQueue = 256.0;                   // messages, the mean over the run
  constexpr double kMinHeldBytes = 16.0 * 1024 * 1024;  // the mean over the run
  constexpr std::uint64_t kMinCount = 1000;
  for (const RankFacts& rank : facts.ranks) {
    const UnexpectedQueue& queue = rank.queue;
    if (rank.wall_ns == 0 || queue.unexpected_count < kMinCount ||
        2 * queue.unexpected_count < queue.message_count)
      continue;
    const double mean_count = static_cast<double>(queue.held_ns) /
                              static_cast<double>(rank.wall_ns);
    const double mean_bytes = queue.held_byte_ns / static_cast<double>(rank.wall_ns);
    if (mean_count < kMinQueue && mean_bytes < kMinHeldBytes) continue;
    found.push_back({.rule = "unexpected_messages",
                     .text = human_count(queue.unexpected_count) + " of " +
                             human_count(queue.message_count) + " messages to rank " +
                             std::to_string(rank.world_rank) +
                             " were sent before it posted their receives, " +
                             call_site_text(facts, kNoIndex, queue.comm, kNoIndex) +
                             ": on average " + human_count(static_cast<std::uint64_t>(mean_count)) +
                             " of them, " + human_bytes(static_cast<std::uint64_t>(mean_bytes)) +
                             ", wait in its queue of unexpected messages. Each receive searches "
                             "this queue, and the library buffers these messages.",
                     .remedy = "Post the receives earlier (MPI_Irecv before the senders start), "
                               "receive more often, or let senders wait for an acknowledgement of "
                               "the receiver after every few messages (or send with MPI_Ssend).",
                     .ranks = {rank.world_rank},
                     .count = queue.unexpected_count,
                     .share = 0.0,
                     .function = kNoIndex,
                     .comm = queue.comm,
                     .site = kNoIndex,
                     .region = {}});
  }
}

}  // namespace megascope::advice
