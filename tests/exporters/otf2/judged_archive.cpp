#include "tests/exporters/otf2/judged_archive.h"

#include "core/base/text.h"
#include "exporters/otf2/export.h"
#include "plugin/cli/common/fork_collective.h"

#include <array>
#include <cstdio>
#include <sstream>
#include <sys/wait.h>

namespace megascope::test {
namespace {

/// What a command prints on stdout; its exit code.
std::string output_of(const std::string& command, int& exit_code) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> part;
  for (std::size_t count = 0; (count = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    output.append(part.data(), count);
  }
  const int state = ::pclose(pipe);
  exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  return output;
}

std::string squeezed(const std::string& line) {
  std::string result;
  for (const char letter : line) {
    if (letter != ' ' || (!result.empty() && result.back() != ' ')) result.push_back(letter);
  }
  return std::string(trimmed(result));
}

}  // namespace

Status export_run(const std::string& directory, std::int32_t world_size,
                  const std::vector<SampleProcess>& processes, int members, ExportResult& result,
                  bool has_plain_comms) {
  Status of_caller;
  const Status status = cli::ForkGroup::run(members, [&](Collective& collective) {
    const std::size_t size = static_cast<std::size_t>(collective.size());
    const std::size_t rank = static_cast<std::size_t>(collective.rank());
    const auto first = processes.begin();
    const auto begin = first + static_cast<std::ptrdiff_t>(processes.size() * rank / size);
    const auto end = first + static_cast<std::ptrdiff_t>(processes.size() * (rank + 1) / size);
    const MemorySource source = make_source(world_size, {begin, end});
    const ExportJob job{.source = &source,
                        .collective = &collective,
                        .directory = directory,
                        .generator = "megascope test",
                        .progress = {},
                        .has_plain_comms = has_plain_comms};
    ExportResult mine;
    const Status exported = otf2::run_export(job, mine);
    if (rank == 0) {
      result = mine;
      of_caller = exported;
    }
    return exported.is_ok() ? 0 : 1;
  });
  of_caller.update(status);
  return of_caller;
}

Judgement judge(const std::string& anchor, const std::string& options) {
  Judgement judgement;
  const std::string command = MEGASCOPE_OTF2_PYTHON " " MEGASCOPE_CHECK_OTF2 " " + options + " " +
                              shell_quoted(anchor);
  const std::string output = output_of(command, judgement.exit_code);
  judgement.report = nlohmann::json::parse(output, nullptr, /*allow_exceptions=*/false);
  return judgement;
}

std::vector<std::string> printed_events(const std::string& anchor, std::uint64_t location) {
  int exit_code = 0;
  const std::string output = output_of(
      "otf2-print -L " + std::to_string(location) + " " + shell_quoted(anchor) + " 2>&1",
      exit_code);
  std::vector<std::string> lines;
  std::istringstream stream(output);
  const std::string call_site = " " + std::to_string(location) + " ";
  for (std::string line; std::getline(stream, line);) {
    std::string text = squeezed(line);
    const std::size_t found = text.find(call_site);
    if (text.starts_with("ADDITIONAL")) {
      lines.back() += " " + text;
    } else if (found != std::string::npos && found == text.find(' ')) {
      lines.push_back(text.erase(found, call_site.size() - 1));
    } else if (text.starts_with("==") && !text.starts_with("===")) {
      lines.push_back(text);  // a complaint: no test expects one
    }
  }
  return lines;
}

std::vector<std::string> printed_definitions(const std::string& anchor, const std::string& kind) {
  int exit_code = 0;
  const std::string output = output_of("otf2-print -G " + shell_quoted(anchor) + " 2>&1",
                                       exit_code);
  std::vector<std::string> lines;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) {
    std::string text = squeezed(line);
    if (text.starts_with(kind + " ")) lines.push_back(std::move(text));
  }
  return lines;
}

}  // namespace megascope::test
