#include "plugin/live/compat_hub.h"

#include <sys/resource.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "shown_tensor.h"

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
  Party::ClientId client = compat.connect(0).value();
  std::vector<tensors::Wish> wishes;
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
      if (hub.take_changed_wishes(news)) wishes = tensors::unpack_wishes(news);
      tensor.step = steps++;
      hub.take_letter(0, test::letter_of(tensor, wishes), now_ns);
    }
  }
  void answer(const json& answer) {
    tensors::LetterWriter letter;
    letter.add(tensors::Reply{answer.dump()});
    hub.take_letter(0, letter.take(), now_ns);
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
  std::copy_if(texts.begin(), texts.end(), std::back_inserter(found), [&](const json& text) { return text["type"] == type; });
  return found;
}

struct Flag {
  const char* flag;
  const char* tensor;
  TensorKind kind = TensorKind::kActvOut;
};
constexpr std::array kFlags{Flag{"QKV_mat_mul", "qkv"}, Flag{"RawAttentionScore_mat_mul", "router.scores"}, Flag{"ContextLayer_mat_mul", "context"},
                            Flag{"MLP1_mat_mul", "mlp1"}, Flag{"HiddenStates", "hidden"}, Flag{"InputTokens", "tokens", TensorKind::kInputTokens}};
const std::vector<std::vector<std::uint64_t>> kShapes{{}, {1}, {5}, {3, 5}, {1, 1}, {2, 3, 5}, {2, 3, 4, 5}, {2, 3, 4, 4, 5}, {0}, {2, 0, 3}};

json configuration(const std::string& compressor) {
  json one{{"compressor_type", compressor}};
  if (compressor == "Tile") one["compressor_configs"] = {{"tiles", 4}, {"method", "data.mean(dim=-1)"}};
  if (compressor == "Projection") one["compressor_configs"] = {{"vector_path", "v.npy"}};
  return one;
}

/// Whatever a tensor of the flag's name is like, its numbers are those of its shape, or there is a sentence.
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
          json message{{"type", is_text ? "generate" : "run_training_step"}, {"visualization_flags", {{flag.flag, true}, {"MLP2_mat_mul", true}}}};
          if (*compressor != 0) message["compressor_config"] = {{flag.flag, configuration(compressor)}};
          if (is_text) message["prompts"] = {"x"};
          scene.hub.desk().open();
          scene.say(message);
          const std::string what = std::string(flag.flag) + " " + compressor + " of " + json(shape).dump();
          std::string request;
          if (is_text && scene.hub.desk().next(request, scene.now_ns)) {
            scene.answer({{"id", json::parse(request)["id"]}, {"type", "start"}, {"prompts", {{{{"id", 1}, {"token", "x"}}}}}});
          }
          scene.show({.name = flag.tensor, .kind = flag.kind, .layer = 0, .shape = shape});
          scene.now_ns += 2 * kSecond;
          const std::vector<json> texts = scene.texts();
          views += expect_sound(texts, what);
          EXPECT_FALSE(texts.empty() && !shape.empty() && std::ranges::count(shape, 0U) == 0 && std::string(compressor) != "Empty") << what;
        }
      }
    }
  }
  EXPECT_GT(views, 300U);
}

TEST(LiveCompatHub, AttentionOfTooFewDimensionsIsSaid) {
  Scene scene;
  scene.say({{"type", "run_training_step"}, {"visualization_flags", {{"RawAttentionScore_mat_mul", "True"}}}, {"compressor_config", {{"QKV", {{"pixels", 8}}}}}});
  scene.show({.name = "router.scores", .shape = {8}});
  scene.now_ns += 2 * kSecond;
  const std::vector<json> texts = scene.texts();
  EXPECT_THAT(of_type(texts, "update"), IsEmpty());
  ASSERT_EQ(of_type(texts, "error").size(), 1U);
  EXPECT_THAT(of_type(texts, "error")[0]["message"].get<std::string>(), HasSubstr("heads, queries and keys"));
}

TEST(LiveCompatHub, RowsThatAreTooManyAreRefusedBeforeTheyAreMade) {
  const auto memory_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{65'536, 1}, {64, 1024, 4, 3, 1}}) {
    const bool is_qkv = shape.size() == 5;
    Scene scene;
    scene.say({{"type", "run_training_step"}, {"visualization_flags", {{is_qkv ? "QKV_mat_mul" : "MLP1_mat_mul", "True"}, {"MLP2_mat_mul", "False"}}},
               {"compressor_config", {{"QKV", {{"pixels", 4096}}}, {"MLP", {{"pixels", 4096}}}}}});
    const long before = memory_kib();
    scene.show({.name = is_qkv ? "qkv" : "mlp1.gate", .shape = shape});
    scene.now_ns += 2 * kSecond;
    const std::vector<json> texts = scene.texts();
    ASSERT_EQ(of_type(texts, "error").size(), 1U);
    EXPECT_THAT(of_type(texts, "error")[0]["message"].get<std::string>(), HasSubstr("268435456 numbers are more than an update holds"));
    EXPECT_LT(memory_kib() - before, 400 << 10) << "268435456 numbers are 1 GiB";
  }
}

TEST(LiveCompatHub, ALongTextThatIsNotReadLosesTokensAndNotItsEnd) {
  Scene scene;
  scene.hub.desk().open();
  scene.say({{"type", "generate"}, {"prompts", {"x"}}, {"visualization_flags", {{"MLP1_mat_mul", "False"}, {"MLP2_mat_mul", "False"}}}});
  std::string request;
  ASSERT_TRUE(scene.hub.desk().next(request, scene.now_ns));
  scene.answer({{"id", 1}, {"type", "start"}, {"prompts", {{{{"id", 1}, {"token", "x"}}}}}});
  for (int i = 0; i < 12; ++i) scene.answer({{"id", 1}, {"type", "token"}, {"sampled", {{{"id", 1}, {"token", std::string(500'000, 'x')}}}}});
  scene.answer({{"id", 1}, {"type", "finish"}, {"text", {"xyz"}}});
  scene.say({{"type", "ping"}});
  const std::vector<json> texts = scene.texts();
  EXPECT_EQ(of_type(texts, "pong").size(), 1U);
  EXPECT_EQ(of_type(texts, "update").size(), 8U) << "of 4 MiB";
  EXPECT_EQ(scene.hub.drops().at(kLostTokens), 4U);
  EXPECT_EQ(texts.back()["type"], "finish");
}

}  // namespace
}  // namespace megascope::live
