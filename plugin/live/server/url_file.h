#pragma once

#include "core/base/status.h"

#include <string>

namespace megascope::live {

/// Writes `directory`/live_url with mode 0600, replacing an existing file. Errors name the file.
Status write_url_file(const std::string& directory, const std::string& url);
void remove_url_file(const std::string& directory) noexcept;

}  // namespace megascope::live
