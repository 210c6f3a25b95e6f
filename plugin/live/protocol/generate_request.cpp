#include "plugin/live/protocol/generate_request.h"

#include "plugin/live/protocol/json_fields.h"

#include <algorithm>
#include <limits>

namespace megascope::live {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kDefaultTokens = 64;
constexpr std::int64_t kMaxTopK = 1000;
constexpr double kMaxTemperature = 100.0;

bool is_prompt(const Json& value) {
  return value.is_string() && !value.get_ref<const std::string&>().empty();
}

}  // namespace

Json generate_request(const Json& message, const GenerateNames& names, std::string& problem) {
  Fields fields(message);
  const bool has_prompts = fields.has("prompts") && fields["prompts"].is_array() &&
                           !fields["prompts"].empty() && fields["prompts"].size() <= kMaxPrompts &&
                           std::ranges::all_of(fields["prompts"], is_prompt);
  if (!has_prompts)
    fields.fail("prompts", "a list of 1 to " + std::to_string(kMaxPrompts) + " non-empty texts");
  std::int64_t tokens = kDefaultTokens;
  std::int64_t top_k = 0;
  std::int64_t seed = 0;
  double temperature = 1.0;
  double top_p = 0.0;
  fields.number(names.tokens, 1, kMaxGeneratedTokens, tokens);
  fields.number("top_k", 0, kMaxTopK, top_k);
  fields.number(names.seed, std::numeric_limits<std::int64_t>::min(),
                std::numeric_limits<std::int64_t>::max(), seed);
  fields.real("temperature", 0.0, kMaxTemperature, temperature);
  fields.real("top_p", 0.0, 1.0, top_p);
  if (fields.has("beam_width")) fields.fail("`beam_width` is not supported: texts are sampled.");
  problem = fields.problem();
  if (!problem.empty()) return nullptr;
  return {{"type", "generate"}, {"prompts", fields["prompts"]},
          {"tokens", tokens},   {"temperature", temperature},
          {"top_k", top_k},     {"top_p", top_p},
          {"seed", seed}};
}

}  // namespace megascope::live
