#pragma once

#include "analysis/hang/hang.h"
#include "core/record/source.h"
#include "exporters/report/run_report.h"
#include "plugin/answer/collective_words.h"

#include <cstdint>
#include <string>
#include <vector>

/// Formats the result of `megascope hang` as text and JSON. Ranks are world ranks; times are since
/// the run's start.
namespace megascope::cli {

using answer::mismatch_text;
using answer::ranks_text;
using answer::what_name;

/// The input of the functions below.
struct HangView {
  const RecordSource& source;
  const analysis::CommTable& comms;
  const analysis::HangReport& report;
  std::uint64_t
      now_ns = 0;  ///< current time if the job is running, otherwise the end of its records
  report::OpenEndFacts open_ends = {};
  /// Run directories of the runs that this run started by MPI_Comm_spawn, and of the run that
  /// started it.
  std::vector<std::string> other_worlds = {};

  const analysis::ProcessState* process(std::int32_t world_rank) const {
    return report.processes.find(world_rank);
  }
  std::string function(std::int32_t world_rank, RegionId region) const {
    return std::string(report.processes.function(world_rank, region).name);
  }
  /// Name of a communicator, or of the communicator of a window or file.
  std::string comm_name(analysis::CommTable::Index comm) const;
  /// Name of a communicator, window or file: "`dp`", "window 2 (`halo`)", "file `out.bin`".
  std::string object_name(analysis::CommTable::Index object) const;
};

/// Whether the run is blocked: a wait cycle, a wait for a rank that never answers, or mismatched
/// collectives.
bool has_finding(const HangView& view);

/// Returns since when a thread waits, as a phrase without a final period: "since 1.2 s (0.8 s so
/// far)". since_ns: begin of the wait.
std::string since_text(const HangView& view, std::uint64_t since_ns);
/// Returns the call in which a thread waits or with which it polls: "MPI_Allreduce #17 of `dp`".
std::string call_text(const HangView& view, const analysis::Waiting& waiting);
/// Describes how the ended ones among `ranks` ended: "rank 2 has finalized". Returns an empty
/// string if none of them has ended.
std::string ends_text(const HangView& view, const std::vector<std::int32_t>& ranks);
/// Returns what a thread waits for, if is_elsewhere(want): a window, a file or another world.
/// own_rank: as for want_text().
std::string elsewhere_text(const HangView& view, const analysis::Waiting& waiting,
                           const analysis::Want& want, std::int32_t own_rank);
/// Returns whether a thread waits for something other than a message or a collective, so that
/// elsewhere_text() describes it.
bool is_elsewhere(const analysis::Want& want);
/// Returns the name of a rank: "rank 7" if own_rank is kNoPeer, "itself" if both ranks are equal,
/// and otherwise the shorter distance modulo the world size, such as "its rank + 1" or "its rank -
/// 1".
std::string peer_text(const HangView& view, std::int32_t rank, std::int32_t own_rank);
/// Returns one thing that a thread waits for: "a message from rank 1 (tag 5)". own_rank: the text
/// names other ranks relative to this rank; kNoPeer: it names them by number.
std::string want_text(const HangView& view, const analysis::Waiting& waiting,
                      const analysis::Want& want, std::int32_t own_rank = kNoPeer);
/// Returns everything that the thread still waits for, and what the trace does not show. Names the
/// first four items and counts the others. own_rank: as for want_text().
std::string wants_text(const HangView& view, const analysis::Waiting& waiting,
                       std::int32_t own_rank = kNoPeer);

/// The complete output.
std::string hang_text(const HangView& view);
std::string hang_json(const HangView& view);

}  // namespace megascope::cli
