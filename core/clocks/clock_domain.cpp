#include "core/clocks/clock_domain.h"

#include "core/base/hash.h"
#include "core/base/wire.h"

#include <algorithm>
#include <iterator>

namespace megascope {
namespace {

constexpr std::size_t kMaxDomains = std::size_t{1} << 24;
constexpr std::size_t kMaxSamples = std::size_t{1} << 24;

std::uint64_t span_ticks(const ClockDomain& clock) { return clock.last.ticks - clock.first.ticks; }

void serialize(const ClockPoint& point, WireWriter& to) {
  to.number(point.ticks);
  to.signed_number(point.monotonic_ns);
  to.signed_number(point.realtime_ns);
}
ClockPoint parse_point(WireReader& from) {
  ClockPoint point;
  point.ticks = from.number();
  point.monotonic_ns = from.signed_number();
  point.realtime_ns = from.signed_number();
  return point;
}

ClockDomain parse_domain(WireReader& from) {
  ClockDomain domain;
  domain.id = from.number();
  domain.lowest_rank = static_cast<std::int32_t>(from.bounded(INT32_MAX));
  domain.kind = from.bounded(1) == 0 ? ClockKind::kTsc : ClockKind::kMonotonic;
  domain.start_ticks = from.number();
  domain.end_ticks = from.number();
  domain.first = parse_point(from);
  domain.last = parse_point(from);
  domain.samples.resize(from.count(kMaxSamples));
  for (ClockSample& sample : domain.samples) {
    sample = {.peer_domain = from.number(),
              .sent_ticks = from.number(),
              .received_ticks = from.number(),
              .peer_ticks = from.number()};
  }
  return domain;
}

/// Merges two descriptions of one domain.
void join(ClockDomain& mine, const ClockDomain& theirs) {
  mine.lowest_rank = std::min(mine.lowest_rank, theirs.lowest_rank);
  mine.start_ticks = std::min(mine.start_ticks, theirs.start_ticks);
  mine.end_ticks = std::max(mine.end_ticks, theirs.end_ticks);
  // The process that lived longest gives the most accurate rate.
  if (span_ticks(theirs) > span_ticks(mine)) {
    mine.first = theirs.first;
    mine.last = theirs.last;
  }
  mine.samples.insert(mine.samples.end(), theirs.samples.begin(), theirs.samples.end());
}

/// count: at least 2, and less than the number of samples.
std::vector<ClockSample> thinned(std::vector<ClockSample> samples, std::size_t count) {
  std::sort(samples.begin(), samples.end(),
            [](const ClockSample& a, const ClockSample& b) { return a.sent_ticks < b.sent_ticks; });
  std::vector<ClockSample> kept = {samples.front()};
  const std::size_t parts = count - 2;
  const std::size_t inner = samples.size() - 2;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto begin = samples.begin() + 1 + static_cast<std::ptrdiff_t>(part * inner / parts);
    const auto end = samples.begin() + 1 + static_cast<std::ptrdiff_t>((part + 1) * inner / parts);
    kept.push_back(*std::min_element(begin, end, [](const ClockSample& a, const ClockSample& b) {
      return a.received_ticks - a.sent_ticks < b.received_ticks - b.sent_ticks;
    }));
  }
  kept.push_back(samples.back());
  return kept;
}

}  // namespace

std::uint64_t clock_domain_id(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return not_zero(hash);
}

ClockDomain clock_domain_of(const ProcessInfo& info) {
  ClockDomain domain;
  domain.id = clock_domain_id(info.clock.domain);
  domain.lowest_rank = info.world_rank;
  domain.kind = info.clock.kind;
  domain.start_ticks = info.start_ticks;
  domain.end_ticks = info.end_ticks;
  domain.samples = info.clock.samples;
  if (!info.clock.points.empty()) {
    domain.first = info.clock.points.front();
    domain.last = info.clock.points.back();
    domain.end_ticks = std::max(domain.end_ticks, domain.last.ticks);
  }
  return domain;
}

std::vector<ClockDomain> one_a_domain(std::vector<ClockDomain> processes) {
  std::stable_sort(processes.begin(), processes.end(),
                   [](const ClockDomain& a, const ClockDomain& b) { return a.id < b.id; });
  std::vector<ClockDomain> all;
  for (ClockDomain& domain : processes) {
    if (all.empty() || all.back().id != domain.id)
      all.push_back(std::move(domain));
    else
      join(all.back(), domain);
  }
  return all;
}

void merge_clock_domains(std::vector<ClockDomain>& all, std::vector<ClockDomain> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  all = one_a_domain(std::move(all));
}

void thin_out(std::vector<ClockDomain>& all, std::size_t most) {
  std::size_t askers = 0;
  for (const ClockDomain& domain : all) askers += domain.samples.empty() ? 0 : 1;
  const std::size_t share = std::max<std::size_t>(most / std::max<std::size_t>(askers, 1), 2);
  for (ClockDomain& domain : all) {
    if (domain.samples.size() > share) domain.samples = thinned(std::move(domain.samples), share);
  }
}

void serialize(const std::vector<ClockDomain>& domains, WireWriter& to) {
  to.number(domains.size());
  for (const ClockDomain& domain : domains) {
    to.number(domain.id);
    to.number(static_cast<std::uint64_t>(domain.lowest_rank));
    to.number(domain.kind == ClockKind::kTsc ? 0 : 1);
    to.number(domain.start_ticks);
    to.number(domain.end_ticks);
    serialize(domain.first, to);
    serialize(domain.last, to);
    to.number(domain.samples.size());
    for (const ClockSample& sample : domain.samples) {
      to.number(sample.peer_domain);
      to.number(sample.sent_ticks);
      to.number(sample.received_ticks);
      to.number(sample.peer_ticks);
    }
  }
}

std::vector<ClockDomain> parse_clock_domains(WireReader& from) {
  std::vector<ClockDomain> domains(from.count(kMaxDomains));
  for (ClockDomain& domain : domains) domain = parse_domain(from);
  return domains;
}

}  // namespace megascope
