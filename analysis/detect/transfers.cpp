#include "analysis/detect/transfers.h"

#include <algorithm>
#include <bit>

namespace megascope::detect {
namespace {

std::uint64_t mixed(std::uint64_t key, std::uint64_t part) {
  key = (key ^ part) * 0x9E3779B97F4A7C15U;
  return key ^ (key >> 31);
}

/// Takes the first of a queue that is a vector with a head.
template <class Item>
Item take(std::vector<Item>& items, std::size_t& at) {
  const Item item = items[at++];
  if (at == items.size()) {
    items.clear();
    at = 0;
  }
  return item;
}

}  // namespace

Transfers::Channel& Transfers::channel(const Envelope& envelope) {
  const auto from = static_cast<std::uint64_t>(envelope.from);
  const auto to = static_cast<std::uint64_t>(envelope.to);
  const std::uint64_t ends = from << 32 | to;
  const std::uint64_t key = mixed(mixed(ends, envelope.comm_name), static_cast<std::uint32_t>(envelope.tag)) | 1;
  std::uint32_t& index = channel_index_[key];
  if (index != 0) return channels_[index - 1];
  channels_.emplace_back();
  index = static_cast<std::uint32_t>(channels_.size());
  const auto size_class = static_cast<std::uint32_t>(std::bit_width(envelope.bytes));
  std::uint32_t& link = link_index_[mixed(ends, size_class) | 1];
  if (link == 0) {
    links_.push_back({envelope.from, envelope.to, size_class, {}, {}});
    link = static_cast<std::uint32_t>(links_.size());
  }
  channels_.back().link = link - 1;
  return channels_.back();
}

void Transfers::add(std::size_t index, std::uint64_t sent_ns, const Waiting& receive) {
  const std::uint64_t begin = std::max(sent_ns, receive.posted_ns);
  if (receive.done_ns <= begin) return;  // clocks disagree by more than it took
  Link& link = links_[index];
  if (link.shortest_ns.size() <= receive.step) {
    link.shortest_ns.resize(receive.step + 1, 0.0F);
    link.total_ns.resize(receive.step + 1, 0.0F);
  }
  const auto time_ns = static_cast<float>(receive.done_ns - begin);
  float& shortest = link.shortest_ns[receive.step];
  shortest = shortest == 0.0F ? time_ns : std::min(shortest, time_ns);
  link.total_ns[receive.step] += time_ns;
}

void Transfers::sent(const Envelope& envelope, std::uint64_t time_ns) {
  Channel& to = channel(envelope);
  if (to.receives.empty()) to.sends.push_back(time_ns);
  else add(to.link, time_ns, take(to.receives, to.receive_at));
}

void Transfers::received(const Envelope& envelope, std::uint64_t posted_ns, std::uint64_t done_ns, std::size_t step) {
  Channel& from = channel(envelope);
  const Waiting receive{posted_ns, done_ns, step};
  if (from.sends.empty()) from.receives.push_back(receive);
  else add(from.link, take(from.sends, from.send_at), receive);
}

}  // namespace megascope::detect
