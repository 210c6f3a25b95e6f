#include "compat_scene.h"

#include <gmock/gmock.h>

#include <sys/resource.h>

namespace megascope::live {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Flag {
  const char* flag;
  const char* tensor;
  TensorKind kind = TensorKind::kActvOut;
};
constexpr std::array kFlags{Flag{"QKV_mat_mul", "qkv"},
                            Flag{"RawAttentionScore_mat_mul", "router.scores"},
                            Flag{"ContextLayer_mat_mul", "context"},
                            Flag{"MLP1_mat_mul", "mlp1"},
                            Flag{"HiddenStates", "hidden"},
                            Flag{"InputTokens", "tokens", TensorKind::kInputTokens}};
const std::vector<std::vector<std::uint64_t>> kShapes{
    {}, {1}, {5}, {3, 5}, {1, 1}, {2, 3, 5}, {2, 3, 4, 5}, {2, 3, 4, 4, 5}, {0}, {2, 0, 3}};

json configuration(const std::string& compressor) {
  json one{{"compressor_type", compressor}};
  if (compressor == "Tile")
    one["compressor_configs"] = {{"tiles", 4}, {"method", "data.mean(dim=-1)"}};
  if (compressor == "Projection") one["compressor_configs"] = {{"vector_path", "v.npy"}};
  return one;
}

/// For any tensor of the flag's name, its numbers are those of its shape, or there is a
/// sentence.
std::size_t expect_sound(const std::vector<json>& texts, const std::string& what) {
  std::size_t views = 0;
  for (const json& update : of_type(texts, "update")) {
    if (update["update_type"] == 6 && update.contains("sampled")) continue;
    ++views;
    std::uint64_t product = 1;
    for (const json& extent : update["args"]) product *= extent.get<std::uint64_t>();
    EXPECT_GE(update["args"].size(), 1U) << what;
    if (product == 0 || update["result"].empty()) continue;
    EXPECT_EQ(update["result"].size() % product, 0U) << what << update["args"];
  }
  return views;
}

TEST(LiveCompatHub, TensorsOfAnyDimensionsAreShownOrRefused) {
  std::size_t views = 0;
  for (const char* const compressor : {"Tile", "NoOp", "Empty", "Projection", ""}) {
    for (const Flag& flag : kFlags) {
      for (const auto& shape : kShapes) {
        for (const bool is_text : {false, true}) {
          Scene scene;
          json message{{"type", is_text ? "generate" : "run_training_step"},
                       {"visualization_flags", {{flag.flag, true}, {"MLP2_mat_mul", true}}}};
          if (*compressor != 0)
            message["compressor_config"] = {{flag.flag, configuration(compressor)}};
          if (is_text) message["prompts"] = {"x"};
          scene.hub.request_queue().open();
          scene.say(message);
          const std::string what = std::string(flag.flag) + " " + compressor + " of " +
                                   json(shape).dump();
          std::string request;
          if (is_text && scene.hub.request_queue().next(request, scene.now_ns)) {
            scene.answer({{"id", json::parse(request)["id"]},
                          {"type", "start"},
                          {"prompts", {{{{"id", 1}, {"token", "x"}}}}}});
          }
          scene.show({.name = flag.tensor, .kind = flag.kind, .layer = 0, .shape = shape});
          scene.now_ns += 2 * kSecond;
          const std::vector<json> texts = scene.texts();
          views += expect_sound(texts, what);
          EXPECT_FALSE(texts.empty() && !shape.empty() && std::ranges::count(shape, 0U) == 0 &&
                       std::string(compressor) != "Empty")
              << what;
        }
      }
    }
  }
  EXPECT_GT(views, 300U);
}

TEST(LiveCompatHub, StartHasTheLayersOfRanksThatReportLate) {
  Scene scene;
  scene.say({{"type", "run_training_step"}, {"visualization_flags", {{"MLP1_mat_mul", true}}}});
  scene.show({.name = "mlp1", .layer = 1, .shape = {2, 8}}, 6);
  EXPECT_THAT(of_type(scene.texts(), "start"), IsEmpty());
  scene.show({.name = "mlp1", .layer = 3, .shape = {2, 8}}, 12);
  const std::vector<json> starts = of_type(scene.texts(), "start");
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0]["num_layers"], 4);
}

TEST(LiveCompatHub, AttentionOfTooFewDimensionsIsReported) {
  Scene scene;
  scene.say({{"type", "run_training_step"},
             {"visualization_flags", {{"RawAttentionScore_mat_mul", "True"}}},
             {"compressor_config", {{"QKV", {{"pixels", 8}}}}}});
  scene.show({.name = "router.scores", .shape = {8}});
  scene.now_ns += 2 * kSecond;
  const std::vector<json> texts = scene.texts();
  EXPECT_THAT(of_type(texts, "update"), IsEmpty());
  ASSERT_EQ(of_type(texts, "error").size(), 1U);
  EXPECT_THAT(of_type(texts, "error")[0]["message"].get<std::string>(),
              HasSubstr("heads, queries and keys"));
}

TEST(LiveCompatHub, RowsThatAreTooManyAreRefusedBeforeTheyAreMade) {
  const auto memory_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{65'536, 1}, {64, 1024, 4, 3, 1}}) {
    const bool is_qkv = shape.size() == 5;
    Scene scene;
    scene.say({{"type", "run_training_step"},
               {"visualization_flags",
                {{is_qkv ? "QKV_mat_mul" : "MLP1_mat_mul", "True"}, {"MLP2_mat_mul", "False"}}},
               {"compressor_config", {{"QKV", {{"pixels", 4096}}}, {"MLP", {{"pixels", 4096}}}}}});
    const long before = memory_kib();
    scene.show({.name = is_qkv ? "qkv" : "mlp1.gate", .shape = shape});
    scene.now_ns += 2 * kSecond;
    const std::vector<json> texts = scene.texts();
    ASSERT_EQ(of_type(texts, "error").size(), 1U);
    EXPECT_THAT(of_type(texts, "error")[0]["message"].get<std::string>(),
                HasSubstr("268435456 values exceed the size of an update"));
    EXPECT_LT(memory_kib() - before, 400 << 10) << "268435456 numbers are 1 GiB";
  }
}

TEST(LiveCompatHub, ALongTextThatIsNotReadLosesTokensAndNotItsEnd) {
  Scene scene;
  scene.hub.request_queue().open();
  scene.say({{"type", "generate"},
             {"prompts", {"x"}},
             {"visualization_flags", {{"MLP1_mat_mul", "False"}, {"MLP2_mat_mul", "False"}}}});
  std::string request;
  ASSERT_TRUE(scene.hub.request_queue().next(request, scene.now_ns));
  scene.answer({{"id", 1}, {"type", "start"}, {"prompts", {{{{"id", 1}, {"token", "x"}}}}}});
  for (int i = 0; i < 12; ++i)
    scene.answer({{"id", 1},
                  {"type", "token"},
                  {"sampled", {{{"id", 1}, {"token", std::string(500'000, 'x')}}}}});
  scene.answer({{"id", 1}, {"type", "finish"}, {"text", {"xyz"}}});
  scene.say({{"type", "ping"}});
  const std::vector<json> texts = scene.texts();
  EXPECT_EQ(of_type(texts, "pong").size(), 1U);
  EXPECT_EQ(of_type(texts, "update").size(), 8U) << "of 4 MiB";
  EXPECT_EQ(scene.hub.drops().at(kLostTokens), 4U);
  EXPECT_EQ(texts.back()["type"], "finish");
}

/// Clients that need no token leave half of the capture requests to those that have one.
TEST(LiveCompatHub, MayNotTakeAllCaptureRequests) {
  Scene scene;
  std::uint32_t tiles = 0;
  std::string refusal;
  for (std::optional<ProtocolEndpoint::ClientId> one = scene.client; one && refusal.empty();
       one = scene.compat.connect(0)) {
    scene.client = *one;
    json flags;
    json compressors;
    for (const char* const flag :
         {"ContextLayer_mat_mul", "MLP1_mat_mul", "MLP2_mat_mul", "HiddenStates"}) {
      flags[flag] = true;
      compressors[flag] = {{"compressor_type", "Tile"},
                           {"compressor_configs", {{"tiles", ++tiles}, {"method", "mean"}}}};
    }
    scene.say({{"type", "run_training_step"},
               {"visualization_flags", flags},
               {"compressor_config", compressors}});
    const std::vector<json> errors = of_type(scene.texts(), "error");
    if (!errors.empty()) refusal = errors[0]["message"].get<std::string>();
  }
  EXPECT_THAT(refusal, HasSubstr("32 for all clients of this port"));
  const Hub::ClientId own = scene.hub.connect(0).value();
  for (int subscription = 0; subscription < 16; ++subscription) {
    const std::string name = std::to_string(subscription);
    EXPECT_TRUE(scene.hub.receive(own,
                                  json{{"type", "subscribe"},
                                       {"panel", name},
                                       {"what", "counters"},
                                       {"names", {"a" + name, "b" + name}}}
                                      .dump(),
                                  0));
  }
  Outgoing message;
  int subscribed = 0;
  while (scene.hub.next(own, kSecond, message))
    subscribed += json::parse(message.text)["type"] == "subscribed" ? 1 : 0;
  EXPECT_EQ(subscribed, 16) << "of two requests each";
}

}  // namespace
}  // namespace megascope::live
