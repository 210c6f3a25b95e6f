#pragma once

#include "kernels/tiles.h"
#include "plugin/live/compat/flags.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Parses messages of clients of the compatibility endpoint (docs/live_compat.md). Pure functions;
/// accept any bytes.
namespace megascope::live {

enum class CompressorKind : std::uint8_t {
  kTile,       ///< each row is reduced to tiles
  kNoOp,       ///< elements are sent unchanged
  kEmpty,      ///< the shape is sent without values
  kProjection  ///< each row is multiplied by a vector and gives one value
};

/// How a tensor is reduced before it is sent.
struct Compressor {
  CompressorKind kind = CompressorKind::kTile;
  std::uint32_t tiles = 96;
  kernels::TileMethod method;
  std::string vector_path;  ///< for a projection: the path as given by the client
};

struct WantedFlag {
  CompatFlag flag = CompatFlag::kQkv;
  Compressor compressor;
};

/// The message `run_training_step`.
struct CompatWatch {
  CompatForm form = CompatForm::kMegatronApp;
  std::vector<WantedFlag> flags;  ///< flags that are switched on
  bool wants_pca = false;         ///< MLP2_Plot is switched on
};

/// The message `generate`.
struct CompatGenerate {
  CompatWatch watch;
  nlohmann::json request;  ///< as handed to the application (generate_request.h)
};

struct CompatPing {};

/// A message that was not accepted.
struct CompatBad {
  std::string text;  ///< sentence that says what is wrong
};

using CompatRequest = std::variant<CompatBad, CompatWatch, CompatGenerate, CompatPing>;

/// Parses one message.
CompatRequest read_compat_request(std::string_view text);

}  // namespace megascope::live
