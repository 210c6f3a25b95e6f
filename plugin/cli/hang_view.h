#pragma once

#include "analysis/hang/hang.h"
#include "core/record/source.h"
#include "exporters/report/run_report.h"
#include "plugin/answer/collective_words.h"

#include <cstdint>
#include <string>
#include <vector>

/// What `megascope hang` found, said for people and for programs. Ranks are world ranks; times are
/// since the run's start.
namespace megascope::cli {

using answer::mismatch_text;
using answer::ranks_text;
using answer::what_name;

struct HangView {
  const RecordSource& source;
  const analysis::CommTable& comms;
  const analysis::HangReport& report;
  std::uint64_t now_ns = 0;  ///< of a running job; else the end of its records
  report::OpenEndFacts open_ends = {};
  std::vector<std::string> other_worlds =
      {};  ///< folders of runs that this one started, or that started it

  const analysis::ProcessState* process(std::int32_t world_rank) const {
    return report.processes.find(world_rank);
  }
  std::string function(std::int32_t world_rank, RegionId region) const {
    return std::string(report.processes.function(world_rank, region).name);
  }
  /// Of a communicator, of that of a window, of a file's.
  std::string comm_name(analysis::CommTable::Index comm) const;
  /// "`dp`", "window 2 (`halo`)", "file `out.bin`".
  std::string place_name(analysis::CommTable::Index place) const;
};

/// Something that stops the run: a circle, a wait for somebody who never answers, collectives that
/// do not match.
bool has_finding(const HangView& view);

/// Phrases, without a final point.
std::string since_text(const HangView& view, std::uint64_t since_ns);
/// "MPI_Allreduce #17 of `dp`": the call that a thread is in, or polls with.
std::string call_text(const HangView& view, const analysis::Waiting& waiting);
/// "rank 2 has finalized": of those among the ranks that do nothing more; empty when there are
/// none.
std::string ends_text(const HangView& view, const std::vector<std::int32_t>& ranks);
/// "a message from rank 1 (tag 5)". own_rank: others are named relative to it; kNoPeer: by their
/// number. Of a call on a window or another world: in hang_elsewhere.cpp.
std::string elsewhere_text(const HangView& view, const analysis::Waiting& waiting,
                           const analysis::Want& want, std::int32_t own_rank);
bool is_elsewhere(const analysis::Want& want);
/// "rank 7", or "its rank + 1" of own_rank's.
std::string peer_text(const HangView& view, std::int32_t rank, std::int32_t own_rank);
std::string want_text(const HangView& view, const analysis::Waiting& waiting,
                      const analysis::Want& want, std::int32_t own_rank = kNoPeer);
/// All that is still open of it, and what is not known.
std::string wants_text(const HangView& view, const analysis::Waiting& waiting,
                       std::int32_t own_rank = kNoPeer);

std::string hang_text(const HangView& view);
std::string hang_json(const HangView& view);

}  // namespace megascope::cli
