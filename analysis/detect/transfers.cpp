#include "analysis/detect/transfers.h"

#include "core/base/hash.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace megascope::detect {
namespace {

constexpr std::size_t kMaxTags = 1 << 16;    ///< channels whose tags are distinguished
constexpr std::uint64_t kMinWaitNs = 2'000;  ///< a call that took less did not wait

/// Removes and returns the first item of a queue, which is a vector with the index of its head.
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

std::size_t Transfers::channel(const Envelope& envelope) {
  const auto from = static_cast<std::uint64_t>(envelope.from);
  const auto to = static_cast<std::uint64_t>(envelope.to);
  const std::uint64_t ends = from << 32 | to;
  const std::uint64_t key = not_zero(
      combined(combined(ends, envelope.comm_name), static_cast<std::uint32_t>(envelope.tag)));
  std::uint32_t& index = channel_index_[key];
  if (index != 0) return index - 1;
  channels_.emplace_back();
  index = static_cast<std::uint32_t>(channels_.size());
  const auto size_class = static_cast<std::uint32_t>(std::bit_width(envelope.bytes));
  const std::int32_t tag = channels_.size() < kMaxTags ? envelope.tag : 0;
  std::uint32_t& link = link_index_[not_zero(
      combined(combined(ends, size_class), static_cast<std::uint32_t>(tag)))];
  if (link == 0) {
    links_.push_back({envelope.from, envelope.to, size_class, tag, {}});
    link = static_cast<std::uint32_t>(links_.size());
  }
  channels_.back().link = link - 1;
  return channels_.size() - 1;
}

void Transfers::add(std::size_t index, std::uint64_t sent_ns, const Waiting& receive,
                    bool is_alone) {
  if (sent_ns < receive.posted_ns)
    return;  // the arrival time is unknown: it may have arrived before the receive was posted
  if (receive.done_ns <= sent_ns) return;  // the clock error exceeds the transfer time
  const std::uint64_t waited_ns = receive.done_ns - receive.entered_ns;
  if (waited_ns < kMinWaitNs || waited_ns < (receive.done_ns - sent_ns) / 100)
    return;  // the message had arrived before the call
  Link& link = links_[index];
  if (link.steps.size() <= receive.step) link.steps.resize(receive.step + 1);
  Link::Step& step = link.steps[receive.step];
  const auto time_ns = static_cast<float>(receive.done_ns - sent_ns);
  step.total_ns += time_ns;
  (is_alone ? step.sum_log : step.sum_log_others) += std::log(time_ns);
  ++(is_alone ? step.alone : step.others);
}

void Transfers::match(std::size_t link, std::uint64_t sent_ns, const Waiting& receive) {
  if (receive.call == kAlone) return add(link, sent_ns, receive, true);
  JointCall& call = joint_calls_[receive.call];
  if (sent_ns >= call.last_sent_ns) {
    call.last_sent_ns = sent_ns;
    call.link = link;
    call.receive = receive;
  }
  if (--call.missing != 0) return;
  add(call.link, call.last_sent_ns, call.receive, false);
  free_calls_.push_back(receive.call);
}

void Transfers::sent(const Envelope& envelope, std::uint64_t time_ns) {
  Channel& to = channels_[channel(envelope)];
  if (to.receives.empty())
    to.sends.push_back(time_ns);
  else
    match(to.link, time_ns, take(to.receives, to.receive_at));
}

void Transfers::received(const TransferLog::Entry& entry) {
  received_.push_back({channel(entry.envelope),
                       {entry.time_ns, entry.entered_ns, entry.done_ns, entry.step, kAlone}});
}

void Transfers::add(TransferLog& log) {
  for (const TransferLog::Entry& entry : log.entries_) {
    if (entry.step == TransferLog::kSent)
      sent(entry.envelope, entry.time_ns);
    else if (entry.step == TransferLog::kEnd)
      settle_call(entry.time_ns);
    else
      received(entry);
  }
  log.entries_.clear();
}

void Transfers::settle_call(std::size_t operations) {
  std::uint32_t number = kAlone;
  if (operations > 1) {
    if (free_calls_.empty()) {
      free_calls_.push_back(static_cast<std::uint32_t>(joint_calls_.size()));
      joint_calls_.emplace_back();
    }
    number = free_calls_.back();
    free_calls_.pop_back();
    joint_calls_[number] = {};
    joint_calls_[number].missing = static_cast<std::uint32_t>(received_.size());
  }
  for (Received& one : received_) {
    one.receive.call = number;
    Channel& from = channels_[one.channel];
    if (from.sends.empty())
      from.receives.push_back(one.receive);
    else
      match(from.link, take(from.sends, from.send_at), one.receive);
  }
  received_.clear();
}

}  // namespace megascope::detect
