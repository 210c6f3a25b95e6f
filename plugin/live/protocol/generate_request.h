#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace megascope::live {

/// Names of the fields of a generate request in the two protocols.
struct GenerateNames {
  const char* tokens;
  const char* seed;
};
inline constexpr GenerateNames kOwnNames{"tokens", "seed"};
inline constexpr GenerateNames kCompatNames{"tokens_to_generate", "random_seed"};

inline constexpr std::size_t kMaxPrompts = 128;
inline constexpr std::int64_t kMaxGeneratedTokens = 1 << 20;

/// Converts a client's generate request to the form that the application gets, without its `id`:
/// {"type":"generate","prompts":[…],"tokens":…,"temperature":…,"top_k":…,"top_p":…,"seed":…}
/// (docs/live_protocol.md). message: an object from a client. On error returns null, and `problem`
/// has a sentence about the first wrong field.
nlohmann::json generate_request(const nlohmann::json& message, const GenerateNames& names,
                                std::string& problem);

}  // namespace megascope::live
