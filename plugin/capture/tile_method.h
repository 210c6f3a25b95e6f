#pragma once

#include "kernels/tiles.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace megascope::capture {

inline constexpr std::size_t kMaxMethodBytes = 256;

/// Parses a client's specification of how a tile is reduced to one number: a name ("mean",
/// "absmax") or a PyTorch expression ("data.abs().mean(dim=-1)", "torch.norm(data, dim=-1)",
/// "data.max(dim=-1).values").
/// Nothing is evaluated: docs/live_protocol.md has the complete grammar. text: any bytes. Returns
/// nullopt if the text is not in the grammar; `problem` then says what is wrong and where.
std::optional<kernels::TileMethod> parse_tile_method(std::string_view text, std::string& problem);

/// Display name, e.g. "mean(|x|)".
std::string name_of(const kernels::TileMethod& method);

}  // namespace megascope::capture
