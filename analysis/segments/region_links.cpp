#include "analysis/segments/region_links.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

namespace megascope::segments {

LinkSink::LinkSink(const RegionRun& run, const analysis::MatchTables& tables,
                   const std::vector<std::int64_t>& step_numbers)
    : tables_(tables), step_count_(step_numbers.size()) {
  for (const std::vector<Segment>& segments : run.processes) {
    std::vector<Communication>& own = communication_.emplace_back();
    for (const Segment& segment : segments) {
      const auto step = std::lower_bound(step_numbers.begin(), step_numbers.end(), segment.step);
      if (segment.is_work || step == step_numbers.end() || *step != segment.step) continue;
      own.push_back({segment.begin_ns, segment.track, segment.name,
                     static_cast<std::uint32_t>(step - step_numbers.begin())});
    }
    std::sort(own.begin(), own.end(), [](const Communication& a, const Communication& b) {
      return std::tuple(a.begin_ns, a.track) < std::tuple(b.begin_ns, b.track);
    });
  }
}

const LinkSink::Communication* LinkSink::find(std::size_t process, analysis::Track track,
                                              std::uint64_t begin_ns) const {
  const std::vector<Communication>& own = communication_[process];
  const auto found = std::lower_bound(own.begin(), own.end(), std::tuple(begin_ns, track),
                                      [](const Communication& a, const auto& wanted) {
                                        return std::tuple(a.begin_ns, a.track) < wanted;
                                      });
  return found != own.end() && found->begin_ns == begin_ns && found->track == track ? &*found
                                                                                    : nullptr;
}

void LinkSink::add_message(std::size_t task, const analysis::MessageEnd& send,
                           const analysis::MessageEnd& receive) {
  const std::uint32_t from = tables_.owner(send.track).process_index;
  const std::uint32_t to = tables_.owner(receive.track).process_index;
  const Communication* const sent = find(from, send.track, send.enter_ns);
  const Communication* const received = find(to, receive.track, receive.enter_ns);
  if (sent == nullptr || received == nullptr || sent->step != received->step || from == to) return;
  const std::uint64_t transfer_ns = std::min(send.leave_ns - send.enter_ns,
                                             receive.leave_ns - receive.enter_ns);
  if (transfer_ns == 0) return;  // the message had already arrived
  const auto size_class = static_cast<std::uint32_t>(std::bit_width(send.bytes));
  tasks_[task].push_back(
      {from, to, size_class, sent->name, sent->step, static_cast<float>(transfer_ns)});
}

std::vector<detect::Link> LinkSink::take() {
  std::vector<Transfer> all;
  for (std::vector<Transfer>& task : tasks_) {
    all.insert(all.end(), task.begin(), task.end());
    task = {};
  }
  const auto key = [](const Transfer& transfer) {
    return std::tuple(transfer.from, transfer.to, transfer.size_class, transfer.name);
  };
  std::sort(all.begin(), all.end(), [&key](const Transfer& a, const Transfer& b) {
    return std::tuple(key(a), a.step, a.transfer_ns) < std::tuple(key(b), b.step, b.transfer_ns);
  });
  std::vector<detect::Link> links;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Transfer& transfer = all[i];
    if (i == 0 || key(all[i - 1]) != key(transfer)) {
      detect::Link& link = links.emplace_back();
      link.from = transfer.from;
      link.to = transfer.to;
      link.size_class = transfer.size_class;
      link.tag = static_cast<std::int32_t>(transfer.name);
      link.steps.resize(step_count_);
    }
    detect::Link::Step& step = links.back().steps[transfer.step];
    step.sum_log += std::log(transfer.transfer_ns);
    step.total_ns += transfer.transfer_ns;
    ++step.alone;
  }
  return links;
}

}  // namespace megascope::segments
