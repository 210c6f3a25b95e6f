// Any environment gives options, and the dump of the values used gives the same options again.

#include "core/config/options.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size_bytes) {
  std::vector<std::string> environment(1);
  for (std::size_t i = 0; i < size_bytes; ++i) {
    if (bytes[i] == 0)
      environment.emplace_back();
    else
      environment.back() += static_cast<char>(bytes[i]);
  }
  const auto loaded = megascope::config::load_options(environment);
  std::vector<std::string> used;
  for (std::size_t i = 0; i < megascope::config::kOptionCount; ++i)
    used.push_back(std::string(megascope::config::option_rows()[i].name) + "=" + loaded.texts[i]);
  const auto again = megascope::config::load_options(used);
  if (!again.problems.empty() || again.texts != loaded.texts) std::abort();
  if (again.values.buffer_size_bytes != loaded.values.buffer_size_bytes) std::abort();
  if (megascope::config::dump_options_sh(loaded).empty()) std::abort();
  return 0;
}
