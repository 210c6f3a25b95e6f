#include "plugin/live/compat/answers.h"

#include "plugin/live/compat/flags.h"
#include "plugin/live/protocol/json_fields.h"

#include <algorithm>
#include <limits>

namespace megascope::live {
namespace {

using Json = nlohmann::json;

constexpr std::size_t
    kTopTokens = 20;  ///< MegatronApp's page splits the list into rows of this length

/// Reads a list of lists; tolerates any JSON, as the application wrote it.
std::vector<Json> lists_in(const Json& reply, const char* name) {
  std::vector<Json> lists;
  const auto found = reply.find(name);
  if (found == reply.end() || !found->is_array()) return lists;
  for (const Json& one : *found) lists.push_back(one.is_array() ? one : Json::array());
  return lists;
}

std::uint64_t shortest_of(const std::vector<Json>& prompts) {
  std::uint64_t shortest = prompts.empty() ? 0 : std::numeric_limits<std::uint64_t>::max();
  for (const Json& prompt : prompts) shortest = std::min<std::uint64_t>(shortest, prompt.size());
  return shortest;
}

Json no_token() { return {{"id", -1}, {"token", ""}, {"logit", 0}, {"probability", 0}}; }

}  // namespace

std::string compat_error_text(const std::string& message) {
  return dumped({{"type", "error"}, {"message", message}});
}

std::uint64_t shortest_prompt(const Json& reply) { return shortest_of(lists_in(reply, "prompts")); }

std::optional<std::int64_t> token_step(const Json& reply) {
  const auto step = reply.find("step");
  return step == reply.end() ? std::nullopt : Fields::whole_number(*step);
}

std::string compat_start_text(const Json& reply, std::int32_t layers) {
  const std::vector<Json> prompts = lists_in(reply, "prompts");
  const std::uint64_t shortest = shortest_of(prompts);
  Json flat = Json::array();
  for (const Json& prompt : prompts) {
    for (std::size_t i = 0; i < shortest; ++i) flat.push_back(prompt[i]);
  }
  const auto said = reply.find("layers");
  const Json count = said != reply.end() && said->is_number_integer() ? *said : Json(layers);
  return dumped({{"type", "start"}, {"prompts", std::move(flat)}, {"num_layers", count}});
}

std::string compat_result_text(const Json& reply) {
  const auto sampled = reply.find("sampled");
  Json top = Json::array();
  for (const Json& list : lists_in(reply, "top")) {
    for (std::size_t i = 0; i < kTopTokens; ++i)
      top.push_back(i < list.size() ? list[i] : no_token());
  }
  const Json tokens = sampled != reply.end() && sampled->is_array() ? *sampled : Json::array();
  return dumped({{"type", "update"},
                 {"update_type", kResultNumber},
                 {"layer_id", 0},
                 {"args", Json::array()},
                 {"sampled", tokens},
                 {"result", std::move(top)}});
}

std::string compat_finish_text(Json reply) {
  reply.erase("id");
  if (!reply.contains("text") || !reply["text"].is_array()) reply["text"] = Json::array();
  return dumped(reply);
}

}  // namespace megascope::live
