#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace megascope::live {

/// What two protocols call the fields of a request to generate.
struct GenerateNames {
  const char* tokens;
  const char* seed;
};
inline constexpr GenerateNames kOwnNames{"tokens", "seed"};
inline constexpr GenerateNames kCompatNames{"tokens_to_generate", "random_seed"};

inline constexpr std::size_t kMostPrompts = 128;
inline constexpr std::int64_t kMostGeneratedTokens = 1 << 20;

/// The request as the program gets it, without its `id`:
/// {"type":"generate","prompts":[…],"tokens":…,"temperature":…,"top_k":…,"top_p":…,"seed":…}
/// (docs/live_protocol.md). message: an object of a client. problem: a sentence on the first field
/// that is wrong; then the result is nothing.
nlohmann::json generate_request(const nlohmann::json& message, const GenerateNames& names,
                                std::string& problem);

}  // namespace megascope::live
