#pragma once

#include "core/lifecycle/tensor_sink.h"

#include <string>
#include <string_view>
#include <vector>

namespace megascope::tensors {

/// Does the name match the pattern, in which '*' stands for any characters, none too?
bool matches(std::string_view pattern, std::string_view name) noexcept;

/// An item of MEGASCOPE_TENSORS: tensors whose names match, of these kinds.
struct TensorChoice {
  std::string pattern;
  TensorKinds kinds = kAllTensorKinds;

  bool operator==(const TensorChoice&) const = default;
};
/// items: "<pattern>", or "<pattern>@<kind>" with one of kTensorKindNames; an empty pattern is
/// every name. What is behind the last '@' counts as kind: a name that has one in it is chosen by a
/// '*' in its place. An item of an unknown kind is left out, and `problems` gets the sentence that
/// says so.
std::vector<TensorChoice> read_choices(const std::vector<std::string>& items,
                                       std::vector<std::string>& problems);

/// Of the tensors of this name.
TensorKinds chosen_kinds(const std::vector<TensorChoice>& choices, std::string_view name);

}  // namespace megascope::tensors
