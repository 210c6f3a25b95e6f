#include "compat_scene.h"

#include <gmock/gmock.h>

#include <optional>

namespace megascope::live {
namespace {

using testing::IsEmpty;

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
  void make_token(std::optional<std::int64_t> step = {}) {
    json token{{"type", "token"}, {"sampled", {{{"id", 1}, {"token", "x"}}}}};
    if (step) token["step"] = *step;
    answer(token);
  }
};

json generate_with(const std::string& flag, const std::string& compressor) {
  return {{"type", "generate"},
          {"prompts", {"abc"}},
          {"visualization_flags",
           {{"MLP1_mat_mul", flag == "MLP1_mat_mul"}, {"MLP2_mat_mul", false}, {flag, true}}},
          {"compressor_config", {{flag, {{"compressor_type", compressor}}}}}};
}

TEST(LiveCompatText, InputTokensOfATextComeOnceEach) {
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

TEST(LiveCompatText, ATextEndsAfterItsLastViewsForAnyCompressor) {
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

TEST(LiveCompatText, EachStepOfATextThatIsReadLateHasItsRows) {
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

/// Number of values of each update that shows a tensor.
std::vector<std::size_t> counts_of(const std::vector<json>& texts) {
  std::vector<std::size_t> counts;
  for (const json& update : of_type(texts, "update")) {
    if (!update.contains("sampled")) counts.push_back(update["result"].size());
  }
  return counts;
}

TEST(LiveCompatText, TrainingAfterATextIsNotShownAsItsTokens) {
  for (const bool has_steps : {false, true}) {
    Text text(generate_with("MLP1_mat_mul", "NoOp"));
    const auto show = [&](std::uint64_t tokens) {
      text.scene.show({.name = "mlp1", .layer = 0, .shape = {1, tokens, 2}}, 1);
    };
    for (std::uint64_t tokens = 3; tokens <= 4; ++tokens) {
      show(tokens);
      text.make_token(has_steps ? std::optional(text.scene.steps - 1) : std::nullopt);
    }
    text.answer({{"type", "finish"}, {"text", {"abcxy"}}});
    for (int step = 0; step < 100; ++step) show(6);  // of a client that reads late
    EXPECT_EQ(counts_of(text.scene.texts()), (std::vector<std::size_t>{6, 2})) << has_steps;
    show(6);
    EXPECT_THAT(text.scene.texts(), IsEmpty()) << "the text is finished";
  }
}

TEST(LiveCompatText, AClientThatIsSlowerThanTrainingReceivesTheEndOfItsText) {
  Text text(generate_with("MLP1_mat_mul", "NoOp"));
  const auto show = [&] { text.scene.show({.name = "mlp1", .layer = 0, .shape = {1, 3, 2}}, 1); };
  show();
  text.make_token(text.scene.steps - 1);
  text.answer({{"type", "finish"}, {"text", {"abcx"}}});
  std::string last;
  for (int step = 0; step < 100 && last != "finish"; ++step) {
    for (int i = 0; i < 3; ++i) show();
    Outgoing message;
    if (text.scene.compat.next(text.scene.client, text.scene.now_ns, message))
      last = json::parse(message.text)["type"];
  }
  EXPECT_EQ(last, "finish");
}

TEST(LiveCompatText, AViewOfARankThatIsAheadWaitsForItsToken) {
  Text text(generate_with("MLP1_mat_mul", "NoOp"));
  const auto show = [&](std::uint64_t tokens) {
    text.scene.show({.name = "mlp1", .layer = 0, .shape = {1, tokens, 2}}, 1);
  };
  show(3);
  const std::int64_t first = text.scene.steps - 1;
  text.make_token(first);
  show(4);
  const std::int64_t second = text.scene.steps - 1;
  show(6);  // training
  EXPECT_EQ(counts_of(text.scene.texts()), (std::vector<std::size_t>{6}));
  text.make_token(second);
  text.answer({{"type", "finish"}, {"text", {"abcxy"}}});
  EXPECT_EQ(counts_of(text.scene.texts()), (std::vector<std::size_t>{2}));
}

TEST(LiveCompatText, AClientThatTrainsAfterItsTextReceivesTheViewsOfTraining) {
  Text text(generate_with("MLP1_mat_mul", "NoOp"));
  const auto show = [&] { text.scene.show({.name = "mlp1", .layer = 0, .shape = {1, 3, 2}}); };
  show();
  text.make_token(text.scene.steps - 1);
  text.answer({{"type", "finish"}, {"text", {"abcx"}}});
  EXPECT_EQ(text.scene.texts().back()["type"], "finish");
  text.scene.say({{"type", "run_training_step"},
                  {"visualization_flags", {{"MLP1_mat_mul", true}}},
                  {"compressor_config", {{"MLP1_mat_mul", {{"compressor_type", "NoOp"}}}}}});
  show();
  text.scene.now_ns += 2 * kSecond;
  EXPECT_THAT(counts_of(text.scene.texts()), testing::Not(IsEmpty()));
}

TEST(LiveCompatText, TokensOfWhichOnlySomeHaveStepsLoseNoViews) {
  Text text(generate_with("MLP1_mat_mul", "NoOp"));
  for (std::uint64_t tokens = 3; tokens <= 5; ++tokens) {
    text.scene.show({.name = "mlp1", .layer = 0, .shape = {1, tokens, 2}}, 1);
    text.make_token(tokens == 3 ? std::optional(text.scene.steps - 1) : std::nullopt);
  }
  EXPECT_EQ(counts_of(text.scene.texts()), (std::vector<std::size_t>{6, 2, 2}));
}

TEST(LiveCompatText, ViewsWithoutValuesWaitForALazyClientUpToABoundToo) {
  Text text(generate_with("MLP1_mat_mul", "Empty"));
  for (int step = 0; step < 40'000; ++step)
    text.scene.show({.name = "mlp1", .layer = 0, .shape = {1, 3, 2}}, 1);
  EXPECT_LT(of_type(text.scene.texts(), "update").size(), 30'000U) << "of 4 MiB";
}

}  // namespace
}  // namespace megascope::live
