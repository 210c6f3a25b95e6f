#include "plugin/tensors/tensor_choice.h"

#include "core/base/text.h"

#include <algorithm>

namespace megascope::tensors {
namespace {

std::string unknown_kind_text(const std::string& item, std::string_view kind) {
  const std::vector<std::string_view> known(kTensorKindNames.begin(), kTensorKindNames.end());
  const std::string text = "MEGASCOPE_TENSORS: " + item + " is ignored: " + std::string(kind) +
                           " is not a tensor kind";
  const std::string_view nearest = nearest_name(kind, known);
  if (!nearest.empty()) return text + ": did you mean " + std::string(nearest) + "?";
  return text + "; the kinds are " + joined({known.begin(), known.end()}, ", ");
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) noexcept {
  // Backtracking: the last star matches one more character each time the rest does not match.
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::vector<TensorChoice> read_choices(const std::vector<std::string>& items,
                                       std::vector<std::string>& problems) {
  std::vector<TensorChoice> choices;
  for (const std::string& item : items) {
    const std::size_t at = item.rfind('@');
    if (at == std::string::npos) {
      choices.push_back({.pattern = item});
      continue;
    }
    const std::string kind = lower_case(trimmed(std::string_view(item).substr(at + 1)));
    const auto found = std::ranges::find(kTensorKindNames, kind);
    if (found == kTensorKindNames.end()) {
      problems.push_back(unknown_kind_text(item, kind));
      continue;
    }
    const std::string_view pattern = trimmed(std::string_view(item).substr(0, at));
    choices.push_back({std::string(pattern.empty() ? "*" : pattern),
                       kinds_with(static_cast<TensorKind>(found - kTensorKindNames.begin()))});
  }
  return choices;
}

TensorKinds chosen_kinds(const std::vector<TensorChoice>& choices, std::string_view name) {
  TensorKinds kinds = 0;
  for (const TensorChoice& choice : choices) {
    if ((kinds | choice.kinds) != kinds && matches(choice.pattern, name)) kinds |= choice.kinds;
  }
  return kinds;
}

}  // namespace megascope::tensors
