#include "core/trace/join.h"

#include "core/base/text.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/convert/convert.h"

#include <cstdio>

namespace megascope::cli {

int join_fragments(const JoinArguments& arguments) {
  trace::JoinResult result;
  const Status status = trace::join_run(arguments.fragments, arguments.out, result);
  for (const std::string& problem : result.problems) say(problem);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  std::printf("%zu of %d ranks in %s; see `megascope report %s`\n", result.ranks.size(),
              result.world_size, printable(arguments.out).c_str(),
              printable(shell_quoted(arguments.out)).c_str());
  const std::string missing = missing_ranks_text(result.ranks, result.world_size);
  if (!missing.empty()) say(missing);
  return kSuccess;
}

}  // namespace megascope::cli
