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
  std::uint64_t now_ns = 0;  ///< current time of a running job, else the end of its records
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

/// Phrases without a final period. since_text: "since 1.2 s (… so far)".
std::string since_text(const HangView& view, std::uint64_t since_ns);
/// "MPI_Allreduce #17 of `dp`": the call that a thread is in or polls with.
std::string call_text(const HangView& view, const analysis::Waiting& waiting);
/// How those of the given ranks that have ended did so: "rank 2 has finalized"; empty if none has.
std::string ends_text(const HangView& view, const std::vector<std::int32_t>& ranks);
/// What a thread waits for: "a message from rank 1 (tag 5)". own_rank: names others relative to
/// this rank; kNoPeer: by number. elsewhere_text: for windows, files and other worlds.
std::string elsewhere_text(const HangView& view, const analysis::Waiting& waiting,
                           const analysis::Want& want, std::int32_t own_rank);
/// Whether elsewhere_text() applies.
bool is_elsewhere(const analysis::Want& want);
/// "rank 7" if own_rank is kNoPeer; otherwise the shorter distance modulo the world size, such as
/// "its rank + 1" or "its rank - 1", and "itself" for own_rank.
std::string peer_text(const HangView& view, std::int32_t rank, std::int32_t own_rank);
std::string want_text(const HangView& view, const analysis::Waiting& waiting,
                      const analysis::Want& want, std::int32_t own_rank = kNoPeer);
/// Everything that the thread still waits for, and what is unknown.
std::string wants_text(const HangView& view, const analysis::Waiting& waiting,
                       std::int32_t own_rank = kNoPeer);

/// The complete output.
std::string hang_text(const HangView& view);
std::string hang_json(const HangView& view);

}  // namespace megascope::cli
