#pragma once

#include "core/base/status.h"

#include <string>

namespace megascope::live {

/// `folder`/live_url, which only its owner can read; what was there is replaced. An error names the
/// file.
Status write_url_file(const std::string& folder, const std::string& url);
void remove_url_file(const std::string& folder) noexcept;

}  // namespace megascope::live
