#include "plugin/live/compat/flags.h"

#include <algorithm>

namespace megascope::live {
namespace {

constexpr TensorKind kOut = TensorKind::kActvOut;
constexpr std::array<CompatFlagRow, static_cast<std::size_t>(CompatFlag::kCount)> kRows{{
    {CompatFlag::kQkv, "QKV_mat_mul", "QKV", 1, 1, false, kOut, {"*qkv*", ""}},
    {CompatFlag::kScores,
     "RawAttentionScore_mat_mul",
     "",
     2,
     2,
     false,
     kOut,
     {"*scores*", "*probabilities*"}},
    {CompatFlag::kContext, "ContextLayer_mat_mul", "MLP", 3, 3, false, kOut, {"*context*", ""}},
    {CompatFlag::kMlp1, "MLP1_mat_mul", "MLP", 4, 4, true, kOut, {"*mlp1*", "*fc1*"}},
    {CompatFlag::kMlp2, "MLP2_mat_mul", "MLP", 5, 5, true, kOut, {"*mlp2*", "*fc2*"}},
    {CompatFlag::kAttentionOutput,
     "AttentionOutput_mat_mul",
     "",
     0,
     6,
     false,
     kOut,
     {"*attention.output*", "*attention/output*"}},
    {CompatFlag::kHidden, "HiddenStates", "", 0, 7, false, kOut, {"*hidden*", ""}},
    {CompatFlag::kInputTokens, "InputTokens", "", 0, 8, false, TensorKind::kInputTokens, {"*", ""}},
}};

}  // namespace

const CompatFlagRow& row_of(CompatFlag flag) { return kRows[static_cast<std::size_t>(flag)]; }

std::optional<CompatFlag> flag_named(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &CompatFlagRow::name);
  return found == kRows.end() ? std::nullopt : std::optional(found->flag);
}

bool is_ignored(std::string_view name) {
  return name == "Result" || name == "MLP2_Plot" || name == "INVALID_FLAG";
}

int number_of(CompatFlag flag, CompatForm form) {
  const CompatFlagRow& row = row_of(flag);
  return form == CompatForm::kTracer ? row.tracer_number : row.megatron_app_number;
}

std::vector<capture::CaptureRequest> capture_requests_of(CompatFlag flag,
                                                         capture::CaptureRequest capture_request) {
  const CompatFlagRow& row = row_of(flag);
  capture_request.tensor_kind = static_cast<std::uint8_t>(row.kind);
  std::vector<capture::CaptureRequest> capture_requests;
  for (const std::string_view pattern : row.patterns) {
    if (capture::set_pattern(capture_request, pattern)) capture_requests.push_back(capture_request);
  }
  return capture_requests;
}

}  // namespace megascope::live
