#pragma once

#include "core/base/status.h"
#include "core/lifecycle/export_job.h"
#include "tests/support/sample_process.h"
#include "tests/support/temporary_directory.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace megascope::test {

/// Exports a run with several members, each a process that holds its share of the ranks, neighbours
/// together. result: member 0's.
Status export_run(const std::string& directory, std::int32_t world_size,
                  const std::vector<SampleProcess>& processes, int members, ExportResult& result,
                  bool has_plain_comms = false);

/// What tests/tools/check_otf2.py says about an archive.
struct Judgement {
  int exit_code = -1;
  nlohmann::json report;
};
Judgement judge(const std::string& anchor, const std::string& options = "");

/// What otf2-print says about one location's events, a line each: "ENTER 10 Region: "MPI_Init"
/// <0>".
std::vector<std::string> printed_events(const std::string& anchor, std::uint64_t location);
/// Lines of otf2-print's global definitions that begin with this word, blanks squeezed.
std::vector<std::string> printed_definitions(const std::string& anchor, const std::string& kind);

}  // namespace megascope::test
