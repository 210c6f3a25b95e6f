#pragma once

#include "kernels/tiles.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace megascope::tensors {

inline constexpr std::size_t kMostMethodBytes = 256;

/// How a tile is made one number, as a client writes it: "mean", "absmax", or what users of PyTorch
/// write: "data.abs().mean(dim=-1)", "torch.norm(data, dim=-1)", "data.max(dim=-1).values". Nothing
/// is evaluated: the grammar is closed (docs/live_protocol.md), and of what is not of it `problem`
/// says what and where. Any bytes.
std::optional<kernels::TileMethod> parse_tile_method(std::string_view text, std::string& problem);

/// "mean(|x|)": for people.
std::string name_of(const kernels::TileMethod& method);

}  // namespace megascope::tensors
