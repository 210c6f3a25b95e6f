#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

/// What the program answers to `generate` (docs/live_protocol.md), in the words of MegatronApp.
/// Pure.
namespace megascope::live {

/// {"type":"error","message":…}
std::string compat_error_text(const std::string& message);

/// Tokens of the shortest prompt of the program's `start`: so many of each prompt are told.
std::uint64_t shortest_prompt(const nlohmann::json& reply);
/// layers: as far as known, where the reply does not say.
std::string compat_start_text(const nlohmann::json& reply, std::int32_t layers);
/// An update of type Result: the sampled token of each prompt, and kTopTokens of each.
std::string compat_result_text(const nlohmann::json& reply);
std::string compat_finish_text(nlohmann::json reply);

}  // namespace megascope::live
