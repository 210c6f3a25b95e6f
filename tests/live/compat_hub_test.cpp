#include "plugin/live/compat/hub.h"
#include "shown_tensor.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

namespace megascope::live {
namespace {

using nlohmann::json;
using test::ShownTensor;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kSecond = 1'000'000'000;

/// A run of one rank, and a client of the compatibility endpoint.
struct Scene {
  Hub hub{settings()};
  CompatHub compat{hub};
  ProtocolEndpoint::ClientId client = compat.connect(0).value();
  std::vector<capture::CaptureRequest> capture_requests;
  std::int64_t now_ns = kSecond;
  std::int64_t steps = 0;

  static LiveSettings settings() {
    LiveSettings settings;
    settings.is_control_allowed = true;
    return settings;
  }
  void say(const json& message) { ASSERT_TRUE(compat.receive(client, message.dump(), now_ns)); }
  void show(ShownTensor tensor, int times = 4) {
    for (int i = 0; i < times; ++i) {
      std::vector<std::byte> news;
      if (hub.take_changed_capture_requests(news))
        capture_requests = capture::unpack_capture_requests(news);
      tensor.step = steps++;
      hub.take_rank_update(0, test::rank_update_of(tensor, capture_requests), now_ns);
    }
  }
  void answer(const json& answer) {
    capture::RankUpdateWriter rank_update;
    rank_update.add(capture::Reply{answer.dump()});
    hub.take_rank_update(0, rank_update.take(), now_ns);
  }
  std::vector<json> texts() {
    std::vector<json> all;
    Outgoing message;
    while (compat.next(client, now_ns, message)) all.push_back(json::parse(message.text));
    return all;
  }
};

std::vector<json> of_type(const std::vector<json>& texts, const std::string& type) {
  std::vector<json> found;
  std::copy_if(texts.begin(), texts.end(), std::back_inserter(found),
               [&](const json& text) { return text["type"] == type; });
  return found;
}

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

/// A text of three tokens and two more, whose steps show what `tensor` is and what `request` asks
/// for.
struct Text {
  Scene scene;

  explicit Text(const json& message) {
    scene.hub.request_queue().open();
    scene.say(message);
    std::string request;
    EXPECT_TRUE(scene.hub.request_queue().next(request, scene.now_ns));
    answer({{"type", "start"},
            {"prompts",
             {{{{"id", 1}, {"token", "a"}},
               {{"id", 2}, {"token", "b"}},
               {{"id", 3}, {"token", "c"}}}}}});
  }
  void answer(json one) {
    one["id"] = 1;
    scene.answer(one);
  }
  void make_token() { answer({{"type", "token"}, {"sampled", {{{"id", 1}, {"token", "x"}}}}}); }
};

json generate_with(const std::string& flag, const std::string& compressor) {
  return {{"type", "generate"},
          {"prompts", {"abc"}},
          {"visualization_flags",
           {{"MLP1_mat_mul", flag == "MLP1_mat_mul"}, {"MLP2_mat_mul", false}, {flag, true}}},
          {"compressor_config", {{flag, {{"compressor_type", compressor}}}}}};
}

TEST(LiveCompatHub, InputTokensOfATextComeOnceEach) {
  for (const bool is_end_only :
       {false, true}) {  // a program that computes all of the text each time, or its new token
    Text text(generate_with("InputTokens", "NoOp"));
    std::vector<json> updates;
    for (std::uint64_t tokens = 3; tokens <= 5; ++tokens) {
      text.scene.show({.name = "ids",
                       .kind = TensorKind::kInputTokens,
                       .layer = kNoLayer,
                       .shape = {1, is_end_only && tokens != 3 ? 1 : tokens}},
                      1);
      text.make_token();
      for (const json& update : of_type(text.scene.texts(), "update")) {
        if (!update.contains("sampled")) updates.push_back(update);
      }
    }
    ASSERT_EQ(updates.size(), 3U);
    EXPECT_EQ(updates[0]["args"], json({2, 1, 3}));
    EXPECT_EQ(updates[0]["result"], json({0, 1, 2, 0, 1, 2}));
    EXPECT_EQ(updates[1]["args"], json({2, 1, 1}));
    EXPECT_EQ(updates[1]["result"], json({is_end_only ? 0 : 3, 3}))
        << "element i is i % 7, and then its position";
    EXPECT_EQ(updates[2]["result"], json({is_end_only ? 0 : 4, 4}));
  }
}

TEST(LiveCompatHub, ATextEndsAfterItsLastViewsForAnyCompressor) {
  for (const auto& [flag, compressor] : {std::pair("InputTokens", "NoOp"),
                                         {"InputTokens", "Empty"},
                                         {"MLP1_mat_mul", "Empty"},
                                         {"MLP1_mat_mul", "NoOp"}}) {
    const bool is_input = std::string(flag) == "InputTokens";
    Text text(generate_with(flag, compressor));
    const auto show = [&](std::uint64_t tokens) {
      if (!is_input)
        text.scene.show({.name = "mlp1", .layer = 0, .shape = {1, tokens, 2}}, 1);
      else
        text.scene.show({.name = "ids",
                         .kind = TensorKind::kInputTokens,
                         .layer = kNoLayer,
                         .shape = {1, tokens}},
                        1);
    };
    // Of a program that shows other tensors, too, from which it is known how many layers there are.
    if (is_input) text.scene.show({.name = "other", .layer = 7, .shape = {2}}, 1);
    for (std::uint64_t tokens = 3; tokens <= 4; ++tokens) {
      show(tokens);
      text.make_token();
    }
    (void)text.scene.texts();
    text.make_token();
    text.answer({{"type", "finish"}, {"text", {"abcxyz"}}});
    EXPECT_THAT(of_type(text.scene.texts(), "finish"), IsEmpty())
        << flag << " " << compressor << ": the last step's view has not come";
    show(5);
    const std::vector<json> texts = text.scene.texts();
    ASSERT_FALSE(texts.empty());
    EXPECT_EQ(texts.back()["type"], "finish") << flag << " " << compressor;
  }
}

TEST(LiveCompatHub, EachStepOfATextThatIsReadLateHasItsRows) {
  Text text(generate_with("MLP1_mat_mul", "NoOp"));
  for (int step = 0; step < 3; ++step) {  // of a program that looks at the last three tokens only
    text.scene.show({.name = "mlp1", .layer = 0, .shape = {1, 3, 2}}, 1);
    text.make_token();
  }
  std::vector<std::size_t> counts;
  for (const json& update : of_type(text.scene.texts(), "update")) {
    if (update.contains("sampled")) continue;
    counts.push_back(update["result"].size());
    for (const json& value : update["result"]) EXPECT_TRUE(value.is_number()) << update.dump();
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{6, 2, 2})) << "two values a token";
}

TEST(LiveCompatHub, ViewsWithoutValuesWaitForALazyClientUpToABoundToo) {
  Text text(generate_with("MLP1_mat_mul", "Empty"));
  for (int step = 0; step < 40'000; ++step)
    text.scene.show({.name = "mlp1", .layer = 0, .shape = {1, 3, 2}}, 1);
  EXPECT_LT(of_type(text.scene.texts(), "update").size(), 30'000U) << "of 4 MiB";
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
