#include "generation.h"
#include "refusal.h"
#include "tasks.h"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <thread>

namespace gpt {

namespace {

using Json = nlohmann::json;

// Time between two polls, each of which is a step; longer after a while without requests.
constexpr std::chrono::milliseconds kPause(20), kLongPause(250), kShortIdle(2000);
constexpr std::size_t kMaxPrompts = 16;
constexpr int kMaxTokens = 4096;
constexpr std::size_t kShown = 20;  // number of candidates in a reply

/// Replaces invalid UTF-8 by U+FFFD.
void reply(const Json& answer) {
  megascope_reply(answer.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

Json token_json(std::uint8_t byte) {
  return {{"id", byte}, {"token", std::string(1, static_cast<char>(byte))}};
}

Json candidate_json(const Candidate& candidate) {
  Json json = token_json(candidate.byte);
  json["logit"] = candidate.logit;
  json["probability"] = candidate.probability;
  return json;
}

Json start_json(const Json& id, const std::vector<std::string>& prompts, const Settings& settings) {
  Json all = Json::array();
  for (const std::string& prompt : prompts) {
    Json& tokens = all.emplace_back(Json::array());
    for (const char byte : prompt) tokens.push_back(token_json(static_cast<std::uint8_t>(byte)));
  }
  return {{"id", id}, {"type", "start"}, {"prompts", all}, {"layers", settings.model.layers}};
}

Json choices_json(const Json& id, int step, const std::vector<Choice>& choices) {
  Json sampled = Json::array();
  Json top = Json::array();
  for (const Choice& choice : choices) {
    sampled.push_back(candidate_json(choice.taken));
    Json& shown = top.emplace_back(Json::array());
    for (std::size_t i = 0; i < kShown; ++i) shown.push_back(candidate_json(choice.ranked[i]));
  }
  return {{"id", id}, {"type", "token"}, {"step", step}, {"sampled", sampled}, {"top", top}};
}

/// All ranks get the same requests in the same step; one of them replies.
class Server {
 public:
  Server(int first_step, const Settings& settings, const GridCoordinates& coordinates,
         Pipeline& pipeline)
      : step_(first_step),
        settings_(settings),
        is_rank_0_(coordinates.is_world_first),
        pipeline_(pipeline) {}

  /// False: there was no request.
  bool answer_one() {
    const std::optional<Json> request = next();
    if (!request) return false;
    const Json id = request->value("id", Json());
    try {
      if (const std::string type = request->value("type", ""); type != "generate")
        throw Refusal("unknown request type \"" + type + "\"; use \"generate\"");
      generate(id, *request);
    } catch (const Refusal& refusal) {
      say({{"id", id}, {"type", "error"}, {"message", refusal.what()}});
    } catch (const Json::exception& error) {
      say({{"id", id}, {"type", "error"}, {"message", error.what()}});
    }
    return true;
  }

 private:
  std::optional<Json> next() {
    const observe::Step step(step_++);
    std::array<char, 4097> text{};
    const std::size_t length = megascope_request_poll(text.data(), text.size());
    if (length == 0) return std::nullopt;
    Json request = Json::parse(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length),
                               nullptr, /*allow_exceptions=*/false);
    return request.is_object() ? std::optional(std::move(request)) : std::nullopt;
  }

  void generate(const Json& id, const Json& request) {
    const auto prompts = request.at("prompts").get<std::vector<std::string>>();
    const int tokens = request.value("tokens", 64);
    if (prompts.empty() || prompts.size() > kMaxPrompts)
      throw Refusal("this program takes 1 to " + std::to_string(kMaxPrompts) +
                    " prompts at a time");
    for (const std::string& prompt : prompts)
      if (prompt.empty()) throw Refusal("a prompt is empty");
    if (largest_array(settings_.model, static_cast<int>(prompts.size())) > kMaxElements)
      throw Refusal("the prompts need too much memory; send fewer");
    if (tokens < 1 || tokens > kMaxTokens)
      throw Refusal("this program generates 1 to " + std::to_string(kMaxTokens) +
                    " tokens at a time");
    Generation generation(prompts, tokens,
                          {.temperature = request.value("temperature", 1.0F),
                           .top_k = request.value("top_k", 0),
                           .top_p = request.value("top_p", 0.0F),
                           .seed = request.value("seed", std::uint64_t{0})});
    say(start_json(id, prompts, settings_));
    while (!generation.is_done()) {
      const int number = step_++;
      const observe::Step step(number);
      const observe::Region region(observe::kGenerate);
      const std::vector<Choice> choices = generation.next(settings_.model, pipeline_);
      if (is_rank_0_) reply(choices_json(id, number, choices));
    }
    say({{"id", id}, {"type", "finish"}, {"text", generation.texts()}});
  }

  void say(const Json& answer) const {
    if (is_rank_0_) reply(answer);
  }

  int step_;
  const Settings& settings_;
  bool is_rank_0_;
  Pipeline& pipeline_;
};

}  // namespace

void serve(int first_step, const Settings& settings, const GridCoordinates& coordinates,
           Pipeline& pipeline) {
  Server server(first_step, settings, coordinates, pipeline);
  for (std::chrono::milliseconds idle(0); idle < std::chrono::seconds(settings.serve_s);) {
    const std::chrono::milliseconds pause = idle < kShortIdle ? kPause : kLongPause;
    idle = server.answer_one() ? std::chrono::milliseconds(0)
                               : idle + pause;  // the same on all ranks
    std::this_thread::sleep_for(pause);
    MPI_Barrier(MPI_COMM_WORLD);  // so that no rank falls far behind
  }
}

}  // namespace gpt
