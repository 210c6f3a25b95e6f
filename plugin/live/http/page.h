#pragma once

#include <string_view>

namespace megascope::live {

/// The document for `GET /`: the page built from viewer/, one HTML file; if the build has none, a
/// page that says how to build it.
std::string_view page() noexcept;

}  // namespace megascope::live
