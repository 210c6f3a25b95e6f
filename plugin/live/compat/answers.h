#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>

/// Converts the application's answers to `generate` (docs/live_protocol.md) to MegatronApp's
/// messages. Pure functions.
namespace megascope::live {

/// An error message.
/// {"type":"error","message":…}
std::string compat_error_text(const std::string& message);

/// Returns the length in tokens of the shortest prompt in the application's `start`. Clients get
/// this many tokens of each prompt.
std::uint64_t shortest_prompt(const nlohmann::json& reply);
/// Returns the step that computed a token; nullopt if the application did not report it.
std::optional<std::int64_t> token_step(const nlohmann::json& reply);
/// The message `start`. layers: number of known layers, used if the reply has none.
std::string compat_start_text(const nlohmann::json& reply, std::int32_t layers);
/// An update of type Result: the sampled token of each prompt, with its kTopTokens candidates.
std::string compat_result_text(const nlohmann::json& reply);
/// The message `finish`.
std::string compat_finish_text(nlohmann::json reply);

}  // namespace megascope::live
