#include "plugin/live/hub/hub.h"
#include "plugin/live/protocol/json_fields.h"

#include <gmock/gmock.h>

namespace megascope::live {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

/// A program that polls, and clients that ask it.
struct Scene {
  Hub hub{settings()};
  std::int64_t now_ns = kSecond;

  Scene() { hub.request_queue().open(); }
  static LiveSettings settings() {
    LiveSettings settings;
    settings.is_control_allowed = true;
    return settings;
  }
  Hub::ClientId connect() {
    const Hub::ClientId client = hub.connect(now_ns).value();
    (void)texts(client);
    return client;
  }
  bool say(Hub::ClientId client, const json& message) {
    return hub.receive(client, message.dump(), now_ns);
  }
  void ask(Hub::ClientId client, const json& id) {
    ASSERT_TRUE(say(
        client, {{"type", "request"}, {"request", "generate"}, {"id", id}, {"prompts", {"x"}}}));
  }
  /// Of the request that the program gets now; 0: none.
  std::int64_t next() {
    std::string text;
    return hub.request_queue().next(text, now_ns) ? json::parse(text)["id"].get<std::int64_t>() : 0;
  }
  template <class Item>
  void report(const Item& item) {
    capture::RankUpdateWriter rank_update;
    rank_update.add(item);
    hub.take_rank_update(0, rank_update.take(), now_ns);
  }
  void answer(const json& answer) { report(capture::Reply{answer.dump()}); }
  std::vector<json> texts(Hub::ClientId client) {
    std::vector<json> all;
    Outgoing message;
    while (hub.next(client, now_ns, message)) {
      if (message.is_text) all.push_back(json::parse(message.text));
    }
    return all;
  }
  std::vector<json> replies(Hub::ClientId client) {
    std::vector<json> found;
    for (json& text : texts(client)) {
      if (text["type"] == "reply" && text["reply"] != "waiting") found.push_back(std::move(text));
    }
    return found;
  }
};

TEST(LiveRequests, WhatTheProgramWillNotAnswerFailsAndTheNextGoes) {
  Scene scene;
  const Hub::ClientId first = scene.connect();
  const Hub::ClientId second = scene.connect();
  scene.ask(first, "a");
  scene.ask(second, "b");
  EXPECT_EQ(scene.next(), 1);
  EXPECT_EQ(scene.next(), 0) << "one at a time";
  scene.report(capture::RequestFailed{"request 1 failed: it was ignored"});
  const std::vector<json> replies = scene.replies(first);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0]["id"], "a");
  EXPECT_EQ(replies[0]["reply"], "error");
  EXPECT_EQ(replies[0]["message"], "request 1 failed: it was ignored");
  EXPECT_EQ(scene.next(), 2);
  scene.answer({{"id", 1}, {"type", "finish"}, {"text", {"x"}}});
  EXPECT_TRUE(scene.replies(first).empty()) << "of one that was given up";
  scene.answer({{"id", 2}, {"type", "finish"}, {"text", {"x"}}});
  EXPECT_EQ(scene.replies(second).size(), 1U);
}

TEST(LiveRequests, AProgramThatIsSilentForAMinuteIsNotWaitedFor) {
  Scene scene;
  const Hub::ClientId client = scene.connect();
  scene.ask(client, 1);
  scene.ask(client, 2);
  EXPECT_EQ(scene.next(), 1);
  scene.now_ns += 50 * kSecond;
  scene.answer({{"id", 1}, {"type", "token"}});
  scene.now_ns += 60 * kSecond;
  scene.hub.tick(scene.now_ns);
  ASSERT_EQ(scene.replies(client).size(), 1U) << "the token";
  EXPECT_EQ(scene.next(), 0);
  scene.now_ns += 1;
  scene.hub.tick(scene.now_ns);
  const std::vector<json> replies = scene.replies(client);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0]["reply"], "error");
  EXPECT_THAT(replies[0]["message"].get<std::string>(), HasSubstr("did not answer for a minute"));
  EXPECT_TRUE(scene.hub.request_queue().is_unwanted()) << "the program is not to get it any more";
  EXPECT_EQ(scene.next(), 2);
}

TEST(LiveRequests, WhoIsGoneHoldsUpTheOthersForTenSecondsAtMax) {
  Scene scene;
  const Hub::ClientId gone = scene.connect();
  const Hub::ClientId other = scene.connect();
  scene.ask(gone, 1);
  scene.ask(other, 2);
  EXPECT_EQ(scene.next(), 1);
  scene.hub.disconnect(gone);
  scene.now_ns += 10 * kSecond;
  scene.hub.tick(scene.now_ns);
  EXPECT_EQ(scene.next(), 0);
  scene.now_ns += 1;
  scene.hub.tick(scene.now_ns);
  EXPECT_EQ(scene.next(), 2);
  EXPECT_TRUE(scene.replies(other).empty());
}

TEST(LiveRequests, AnswersAreNoFaultOfTheClientAndTheLastOneComes) {
  Scene scene;
  const Hub::ClientId client = scene.connect();
  scene.ask(client, 7);
  EXPECT_EQ(scene.next(), 1);
  for (int i = 0; i < 5; ++i)
    scene.answer({{"id", 1}, {"type", "token"}, {"pad", std::string(1'000'000, 'x')}});
  scene.answer({{"id", 1}, {"type", "finish"}, {"text", {"y"}}});
  EXPECT_TRUE(scene.say(client, {{"type", "ping"}})) << "it asked for no more than it may";
  EXPECT_TRUE(scene.say(
      client, {{"type", "request"}, {"request", "generate"}, {"id", 8}, {"prompts", {"x"}}}));
  EXPECT_EQ(scene.hub.drops().at(kLostTokens), 1U) << "of 5 MB 4 MiB are kept";
  const std::vector<json> replies = scene.replies(client);
  ASSERT_EQ(replies.size(), 5U);
  EXPECT_EQ(replies.back()["reply"], "finish");
}

TEST(LiveRequests, ClientsWithoutTokenDoNotTakeAllPlaces) {
  RequestQueue request_queue(true);
  request_queue.open();
  std::string problem;
  for (std::uint64_t i = 0; i < 4; ++i)
    EXPECT_TRUE(
        request_queue.ask({.is_compat = true, .client = i, .tag = {}}, json::object(), problem))
        << i;
  EXPECT_FALSE(
      request_queue.ask({.is_compat = true, .client = 9, .tag = {}}, json::object(), problem));
  EXPECT_THAT(problem, HasSubstr("4 requests of unauthenticated clients"));
  EXPECT_TRUE(
      request_queue.ask({.is_compat = false, .client = 1, .tag = {}}, json::object(), problem));
}

}  // namespace
}  // namespace megascope::live
