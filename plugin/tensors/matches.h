#pragma once

#include <string_view>

namespace megascope::tensors {

/// Does the name match the pattern, in which '*' stands for any characters, none too?
bool matches(std::string_view pattern, std::string_view name) noexcept;

}  // namespace megascope::tensors
