#include "core/config/environment.h"

#include <cstdlib>
#include <unistd.h>

namespace megascope::config {

std::vector<std::string> environment_entries(std::string_view prefix) {
  std::vector<std::string> entries;
  if (environ == nullptr) return entries;  // environ is null after clearenv()
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with(prefix)) entries.emplace_back(*entry);
  }
  return entries;
}

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool set_environment_value(const char* name, const std::string& value) {
  return ::setenv(name, value.c_str(), /*overwrite=*/1) == 0;
}

}  // namespace megascope::config
