#pragma once

#include <string_view>

namespace megascope::live {

/// The page that `GET /` answers: viewer/'s, as one HTML document; a notice how to build it where
/// this build has none.
std::string_view page() noexcept;

}  // namespace megascope::live
