#pragma once

#include "core/lifecycle/export_job.h"
#include "tests/support/sample_process.h"
#include "tests/support/temporary_directory.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::test {

/// Exports the processes into the directory by `member_count` members at once; each has its share
/// of consecutive ranks. What all members were told must be equal; it is returned in `result`.
/// annotations: null: none.
Status export_by(ExportFunction exporter, int member_count,
                 const std::vector<SampleProcess>& processes, const std::string& directory,
                 ExportResult& result, const Annotations* annotations = nullptr);

/// Whether Perfetto's trace processor is here; `reason` says what is missing.
bool has_judge(std::string& reason);

/// What tests/tools/trace_processor/check_timeline.mjs says about a file. `queries` are answered in
/// "answers".
nlohmann::json judged(const std::string& file, const std::vector<std::string>& queries = {});

/// Stops the test as skipped where there is no judge.
#define MEGASCOPE_NEEDS_JUDGE() \
  if (std::string missing; !::megascope::test::has_judge(missing)) GTEST_SKIP() << missing

}  // namespace megascope::test
