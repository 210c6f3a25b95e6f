#include "core/record/clock_domain.h"

#include <algorithm>

#include "core/record/hash.h"
#include "core/record/wire.h"

namespace megascope {
namespace {

constexpr std::size_t kMostDomains = std::size_t{1} << 24;
constexpr std::size_t kMostSamples = std::size_t{1} << 24;

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
  domain.first = parse_point(from);
  domain.last = parse_point(from);
  domain.samples.resize(from.count(kMostSamples));
  for (ClockSample& sample : domain.samples) {
    sample = {.peer_domain = from.number(), .sent_ticks = from.number(), .received_ticks = from.number(),
              .peer_ticks = from.number()};
  }
  return domain;
}

}  // namespace

std::uint64_t clock_domain_id(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return not_zero(hash);
}

ClockDomain clock_domain_of(const ProcessInfo& info) {
  ClockDomain domain;
  domain.id = clock_domain_id(info.clock_domain);
  domain.lowest_rank = info.world_rank;
  domain.kind = info.clock;
  domain.start_ticks = info.start_ticks;
  domain.samples = info.clock_samples;
  if (!info.clock_points.empty()) {
    domain.first = info.clock_points.front();
    domain.last = info.clock_points.back();
  }
  return domain;
}

void add_clock_domain(std::vector<ClockDomain>& all, ClockDomain domain) {
  const auto at = std::lower_bound(all.begin(), all.end(), domain.id,
                                   [](const ClockDomain& known, std::uint64_t id) { return known.id < id; });
  if (at == all.end() || at->id != domain.id) {
    all.insert(at, std::move(domain));
    return;
  }
  at->lowest_rank = std::min(at->lowest_rank, domain.lowest_rank);
  at->start_ticks = std::min(at->start_ticks, domain.start_ticks);
  // Of the processes that share a clock, the longest-lived knows its rate best.
  if (span_ticks(domain) > span_ticks(*at)) {
    at->first = domain.first;
    at->last = domain.last;
  }
  at->samples.insert(at->samples.end(), domain.samples.begin(), domain.samples.end());
}

void serialize(const std::vector<ClockDomain>& domains, WireWriter& to) {
  to.number(domains.size());
  for (const ClockDomain& domain : domains) {
    to.number(domain.id);
    to.number(static_cast<std::uint64_t>(domain.lowest_rank));
    to.number(domain.kind == ClockKind::kTsc ? 0 : 1);
    to.number(domain.start_ticks);
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
  std::vector<ClockDomain> domains(from.count(kMostDomains));
  for (ClockDomain& domain : domains) domain = parse_domain(from);
  return domains;
}

}  // namespace megascope
