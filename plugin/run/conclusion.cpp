#include "plugin/run/conclusion.h"

#include "core/base/text.h"
#include "core/base/wire.h"

#include <span>
#include <utility>

namespace megascope::run {
namespace {

constexpr std::size_t kMaxSharedSamples = 16'384;  // over all clocks; the traces have every sample

Collective::Bytes bytes_of(const std::string& text) {
  const std::span bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const Collective::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Collective::Bytes bytes_of(const std::vector<ClockDomain>& domains) {
  Collective::Bytes bytes;
  WireWriter writer(bytes);
  serialize(domains, writer);
  return bytes;
}

std::vector<ClockDomain> domains_in(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  return parse_clock_domains(reader);
}

Status bcast_text(Collective& group, std::string& text) {
  Collective::Bytes bytes = bytes_of(text);
  const Status status = group.bcast_resized(bytes, 0);
  text = text_of(bytes);
  return status;
}

/// Merges the clocks of all ranks on rank 0, one for each clock domain.
Status merge_clocks_up(Collective& group, Collective::Bytes& clocks) {
  return group.merge_up(clocks, [](Collective::Bytes& lower, std::span<const std::byte> higher) {
    std::vector<ClockDomain> all = domains_in(lower);
    merge_clock_domains(all, domains_in(higher));
    thin_out(all, kMaxSharedSamples);
    lower = bytes_of(all);
  });
}

/// Broadcasts rank 0's clocks; returns `mine` on failure. O(clock domains + samples) bytes on every
/// rank.
std::vector<ClockDomain> share_clocks(Collective& group, Collective::Bytes clocks,
                                      const ClockDomain& mine) {
  const Status status = group.bcast_resized(clocks, 0);
  return status.is_ok() ? domains_in(clocks) : std::vector{mine};
}

/// Agrees on the export formats. is_sound: on rank 0, whether it has the merged report. Called on
/// every rank, even after a local error.
std::vector<std::string> agree_on_formats(Collective& group, RunPart& part,
                                          const report::RunReport& report, bool is_sound) {
  std::string text = group.rank() == 0 && is_sound ? joined(part.wanted_formats(report), ",")
                                                   : std::string();
  return bcast_text(group, text).is_ok() ? split_list(text) : std::vector<std::string>();
}

}  // namespace

Status agree(Collective& group, const Status& mine) {
  Collective::Bytes bytes = bytes_of(mine.message());
  const Status status = group.merge_all(
      bytes, [](Collective::Bytes& first, std::span<const std::byte> other) {
        if (first.empty()) first.assign(other.begin(), other.end());
      });
  if (!status.is_ok()) return status;
  return bytes.empty() ? Status::ok() : Status::error(text_of(bytes));
}

Status conclude(Collective& group, RunPart& part) {
  std::string directory = part.own_directory();
  Status status = bcast_text(group, directory);
  if (!status.is_ok()) return status;
  part.enter_directory(directory);
  const ClockDomain clock = part.clock();
  Collective::Bytes clocks = bytes_of(std::vector{clock});
  status = merge_clocks_up(group, clocks);
  report::RunReport report = part.report();
  status.update(report::merge_up(group, report));
  const std::vector<std::string> formats = agree_on_formats(group, part, report, status.is_ok());
  if (!formats.empty())
    part.run_exports(group, formats, share_clocks(group, clocks, clock), report);
  part.close(group, domains_in(clocks), report);
  return Status::ok();
}

}  // namespace megascope::run
