#pragma once

#include "core/lifecycle/tensor_sink.h"

#include <string>
#include <string_view>
#include <vector>

namespace megascope::tensors {

/// Whether the name matches the pattern. '*' matches any number of characters, including none.
bool matches(std::string_view pattern, std::string_view name) noexcept;

/// One item of MEGASCOPE_TENSORS: tensors whose name matches `pattern` and whose kind is in
/// `kinds`.
struct TensorChoice {
  std::string pattern;
  TensorKinds kinds = kAllTensorKinds;

  bool operator==(const TensorChoice&) const = default;
};
/// Parses MEGASCOPE_TENSORS. An item is "<pattern>" or "<pattern>@<kind>", with a kind from
/// kTensorKindNames. An empty pattern matches every name. The text after the last '@' is the kind;
/// to choose a name that contains '@', write '*' in its place.
/// An item with an unknown kind is ignored, and `problems` gets a sentence about it.
std::vector<TensorChoice> read_choices(const std::vector<std::string>& items,
                                       std::vector<std::string>& problems);

/// Returns the kinds of all choices whose pattern matches the name.
TensorKinds chosen_kinds(const std::vector<TensorChoice>& choices, std::string_view name);

}  // namespace megascope::tensors
