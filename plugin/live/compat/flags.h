#pragma once

#include "plugin/capture/capture_request.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// Tensor names of the compatibility protocols (docs/live_compat.md). Pure functions.
namespace megascope::live {

/// The two protocols. They number their flags differently.
enum class CompatForm : std::uint8_t { kMegatronApp, kTracer };

/// Flags, in the order of the table of rows.
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

/// A row of the table: a flag and the tensors that it selects.
struct CompatFlagRow {
  CompatFlag flag = CompatFlag::kQkv;
  std::string_view name;
  std::string_view group;       ///< key in MegatronApp's configuration; empty: none
  int megatron_app_number = 0;  ///< flag number; 0: MegatronApp has no such flag
  int tracer_number = 0;
  bool is_on_by_default = false;
  TensorKind kind = TensorKind::kActvOut;
  std::array<std::string_view, 2> patterns;  ///< name patterns; empty: none
};

/// FlagType 6 of MegatronApp: the sampled token.
inline constexpr int kResultNumber = 6;

const CompatFlagRow& row_of(CompatFlag flag);
std::optional<CompatFlag> flag_named(std::string_view name);
/// Flags known to the reference implementations that are ignored here.
bool is_ignored(std::string_view name);
int number_of(CompatFlag flag, CompatForm form);

/// One capture request for each pattern of the flag, based on `capture_request`.
std::vector<capture::CaptureRequest> capture_requests_of(CompatFlag flag,
                                                         capture::CaptureRequest capture_request);

}  // namespace megascope::live
