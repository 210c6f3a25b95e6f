#include "core/trace/recover.h"

#include "core/base/text.h"
#include "plugin/cli/commands.h"

#include <cstdio>

namespace megascope::cli {

int recover_traces(const std::string& folder) {
  trace::RecoverResult result;
  const Status status = trace::recover_run(folder, result);
  for (const std::string& problem : result.problems) say(problem);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  for (const std::string& path : result.recovered) std::printf("recovered %s\n", path.c_str());
  std::printf("%zu %s in %s; see `megascope report %s`\n", result.trace_count,
              result.trace_count == 1 ? "trace" : "traces", folder.c_str(),
              shell_quoted(folder).c_str());
  return kSuccess;
}

}  // namespace megascope::cli
