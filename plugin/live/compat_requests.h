#pragma once

#include "kernels/tiles.h"
#include "plugin/live/compat_flags.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What clients of the compatibility endpoint say (docs/live_compat.md). Pure; any bytes may be
/// read.
namespace megascope::live {

enum class CompressorKind : std::uint8_t { kTile, kNoOp, kEmpty, kProjection };

/// How a tensor is to be made small.
struct Compressor {
  CompressorKind kind = CompressorKind::kTile;
  std::uint32_t tiles = 96;
  kernels::TileMethod method;
  std::string vector_path;  ///< of a projection, as the client wrote it
};

struct WantedFlag {
  CompatFlag flag = CompatFlag::kQkv;
  Compressor compressor;
};

/// `run_training_step`.
struct CompatWatch {
  CompatForm form = CompatForm::kMegatronApp;
  std::vector<WantedFlag> flags;  ///< that are on
  bool wants_pca = false;         ///< MLP2_Plot is on
};

/// `generate`.
struct CompatGenerate {
  CompatWatch watch;
  nlohmann::json request;  ///< for the program (generate_request.h)
};

struct CompatPing {};

struct CompatBad {
  std::string text;  ///< a sentence that names what is wrong
};

using CompatRequest = std::variant<CompatBad, CompatWatch, CompatGenerate, CompatPing>;

CompatRequest read_compat_request(std::string_view text);

}  // namespace megascope::live
