#include "tests/exporters/timeline/judged_timeline.h"

#include "core/base/text.h"
#include "tests/support/thread_collective.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <sys/wait.h>

namespace megascope::test {
namespace {

namespace fs = std::filesystem;

const std::string kTools = MEGASCOPE_TRACE_PROCESSOR_TOOLS;
const std::string kDirectory = MEGASCOPE_TRACE_PROCESSOR_DIRECTORY;
const std::string kNode = MEGASCOPE_NODE;

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (std::size_t count = 0; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.append(buffer, count);
  pclose(pipe);
  return output;
}

}  // namespace

Status export_by(ExportFunction exporter, int member_count,
                 const std::vector<SampleProcess>& processes, const std::string& directory,
                 ExportResult& result, const Annotations* annotations) {
  const auto world_size = static_cast<std::int32_t>(std::max<std::size_t>(processes.size(), 4));
  const auto members = static_cast<std::size_t>(member_count);
  std::vector<Status> statuses(members);
  std::vector<ExportResult> results(members);
  run_members(member_count, [&](Collective& collective) {
    const auto rank = static_cast<std::size_t>(collective.rank());
    const auto first = static_cast<std::ptrdiff_t>(processes.size() * rank / members);
    const auto last = static_cast<std::ptrdiff_t>(processes.size() * (rank + 1) / members);
    MemorySource share = make_source(world_size,
                                     {processes.begin() + first, processes.begin() + last});
    share.set_start_realtime_ns(1'700'000'000'000'000'000);
    const ExportJob job{.source = &share,
                        .collective = &collective,
                        .directory = directory,
                        .generator = "test",
                        .progress = {},
                        .annotations = annotations};
    statuses[rank] = exporter(job, results[rank]);
  });
  for (std::size_t i = 1; i < members; ++i) {
    EXPECT_EQ(statuses[i].message(), statuses[0].message());
    EXPECT_EQ(results[i].records, results[0].records);
    EXPECT_EQ(results[i].bytes, results[0].bytes);
    EXPECT_EQ(results[i].notes, results[0].notes);
  }
  result = results[0];
  return statuses[0];
}

bool has_judge(std::string& reason) {
  if (kNode.empty()) reason = "no Node: traces are not judged (Debian: apt-get install nodejs)";
  if (!fs::exists(kDirectory + "/trace_processor.wasm")) {
    reason = "no trace processor in " + kDirectory +
             ": get it with tests/tools/trace_processor/fetch.sh";
  }
  return reason.empty();
}

nlohmann::json judged(const std::string& file, const std::vector<std::string>& queries) {
  std::string command = "TRACE_PROCESSOR=" + shell_quoted(kDirectory) + " " + shell_quoted(kNode) +
                        " " + shell_quoted(kTools + "/check_timeline.mjs") + " " +
                        shell_quoted(file);
  for (const std::string& query : queries) command += " " + shell_quoted(query);
  const std::string output = output_of(command);
  nlohmann::json report = nlohmann::json::parse(output, nullptr, false);
  EXPECT_TRUE(report.is_object()) << command << "\n" << output;
  return report;
}

}  // namespace megascope::test
