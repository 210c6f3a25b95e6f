#pragma once

#include <cstdint>
#include <vector>

#include "analysis/detect/reduction.h"
#include "core/record/id_map.h"

namespace megascope::detect {

/// Sends and receives become transfer times of links: the n-th sent on a (communicator, source, destination, tag) is the n-th
/// received. Memory: what is in flight, and the links' steps.
class Transfers {
 public:
  struct Envelope {
    std::uint64_t comm_name = 0;
    std::size_t from = 0;  ///< index of the rank
    std::size_t to = 0;
    std::int32_t tag = 0;
    std::uint64_t bytes = 0;
  };
  void sent(const Envelope& envelope, std::uint64_t time_ns);
  /// step: the receiver's.
  void received(const Envelope& envelope, std::uint64_t posted_ns, std::uint64_t done_ns, std::size_t step);
  std::vector<Link> take_links() { return std::move(links_); }

 private:
  struct Waiting {
    std::uint64_t posted_ns = 0;
    std::uint64_t done_ns = 0;
    std::size_t step = 0;
  };
  struct Channel {
    std::vector<std::uint64_t> sends;  ///< not yet received; from `send_at` on
    std::vector<Waiting> receives;     ///< whose send was not seen yet
    std::size_t send_at = 0;
    std::size_t receive_at = 0;
    std::size_t link = 0;
  };
  Channel& channel(const Envelope& envelope);
  void add(std::size_t link, std::uint64_t sent_ns, const Waiting& receive);

  IdMap<std::uint64_t, std::uint32_t> channel_index_;  ///< 1 + index
  IdMap<std::uint64_t, std::uint32_t> link_index_;
  std::vector<Channel> channels_;
  std::vector<Link> links_;
};

}  // namespace megascope::detect
