#include "plugin/cli/commands.h"

#include <cstdio>

namespace megascope::cli {

void say(const std::string& sentence) { std::fprintf(stderr, "megascope: %s\n", sentence.c_str()); }

}  // namespace megascope::cli
