#pragma once

#include "plugin/tensors/wish.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// What clients of the compatibility endpoint call tensors (docs/live_compat.md). Pure.
namespace megascope::live {

/// The two protocols, which number their flags differently.
enum class CompatForm : std::uint8_t { kMegatronApp, kTracer };

/// In the order of the table.
enum class CompatFlag : std::uint8_t {
  kQkv,
  kScores,
  kContext,
  kMlp1,
  kMlp2,
  kAttentionOutput,
  kHidden,
  kInputTokens,
  kCount
};

/// A row of the table: a flag, and which tensors a program shows are its.
struct CompatFlagRow {
  CompatFlag flag = CompatFlag::kQkv;
  std::string_view name;
  std::string_view group;       ///< of MegatronApp's configuration; empty: it has none
  int megatron_app_number = 0;  ///< 0: it has no such flag
  int tracer_number = 0;
  bool is_on_by_default = false;
  TensorKind kind = TensorKind::kActvOut;
  std::array<std::string_view, 2> patterns;  ///< of names; empty: none
};

/// FlagType 6 of MegatronApp: the token that was sampled.
inline constexpr int kResultNumber = 6;

const CompatFlagRow& row_of(CompatFlag flag);
std::optional<CompatFlag> flag_named(std::string_view name);
/// Known in the references, and shown otherwise or not at all: passed over.
bool is_passed_over(std::string_view name);
int number_of(CompatFlag flag, CompatForm form);

/// `wish` for each pattern of the flag.
std::vector<tensors::Wish> wishes_of(CompatFlag flag, tensors::Wish wish);

}  // namespace megascope::live
