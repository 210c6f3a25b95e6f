#pragma once

#include "plugin/capture/capture_request.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// The flags by which a client of the compatibility protocols (docs/live_compat.md) selects
/// tensors: the name and the numbers of each flag, and the capture requests for its tensors. Pure
/// functions.
namespace megascope::live {

/// The compatibility protocols. They number their flags differently.
enum class CompatForm : std::uint8_t {
  kMegatronApp,  ///< MegatronApp
  kTracer        ///< Megatron's tensor tracer
};
/// A flag selects tensors of one role. Values are indices into the table of rows (row_of()).
enum class CompatFlag : std::uint8_t {
  kQkv,              ///< queries, keys and values of attention
  kScores,           ///< attention scores
  kContext,          ///< context layer of attention
  kMlp1,             ///< output of the first layer of the MLP
  kMlp2,             ///< output of the second layer of the MLP
  kAttentionOutput,  ///< output of attention
  kHidden,           ///< hidden states
  kInputTokens,      ///< input tokens
  kCount             ///< number of flags
};

/// A row of the table: a flag and the tensors that it selects.
struct CompatFlagRow {
  CompatFlag flag = CompatFlag::kQkv;
  std::string_view name;
  std::string_view group;       ///< key in MegatronApp's configuration; empty: it has none
  int megatron_app_number = 0;  ///< flag number; 0: MegatronApp has no such flag
  int tracer_number = 0;
  bool is_on_by_default = false;
  TensorKind kind = TensorKind::kActvOut;
  std::array<std::string_view, 2> patterns;  ///< name patterns; empty ones are ignored
};

/// FlagType 6 of MegatronApp: the sampled token.
inline constexpr int kResultNumber = 6;

const CompatFlagRow& row_of(CompatFlag flag);
std::optional<CompatFlag> flag_named(std::string_view name);
/// Returns whether this is the name of a flag that the reference implementations have and that
/// MegaScope ignores.
bool is_ignored(std::string_view name);
int number_of(CompatFlag flag, CompatForm form);

/// Returns one capture request for each pattern of the flag. They are copies of `capture_request`
/// with the flag's tensor kind and the pattern.
std::vector<capture::CaptureRequest> capture_requests_of(CompatFlag flag,
                                                         capture::CaptureRequest capture_request);

}  // namespace megascope::live
