#include "core/hooks/requests.h"

#include "tests/hooks/recorded_hooks.h"

#include <gmock/gmock.h>

/// Requests of clients of the live view on their way to the program, and its answers.
namespace megascope::hooks {
namespace {

using testing::ElementsAre;

struct Sink final : RequestSink {
  int poll_count = 0;
  int idle_steps = 0;
  std::vector<std::string> replies;
  void note_first_poll() noexcept override { ++poll_count; }
  void note_idle_step() noexcept override { ++idle_steps; }
  void reply(std::string_view text) noexcept override { replies.emplace_back(text); }
};

TEST_F(HookRecorder, RequestsComeInOrderAndWholeOrNotAtAll) {
  ASSERT_TRUE(in_child([](Recorder&) {
    char text[8] = "before";
    EXPECT_EQ(poll_request(text, sizeof text), 0U) << "no client can ask";
    Sink sink;
    set_request_sink(&sink);
    EXPECT_EQ(poll_request(text, sizeof text), 0U);
    offer_request("seven77");
    offer_request("eight888");
    EXPECT_EQ(poll_request(nullptr, 0), 7U);
    EXPECT_STREQ(text, "before");
    EXPECT_EQ(poll_request(text, sizeof text), 7U);
    EXPECT_STREQ(text, "seven77");
    EXPECT_EQ(poll_request(text, sizeof text), 8U) << "no space for the zero: it stays";
    EXPECT_STREQ(text, "seven77");
    char larger[9];
    EXPECT_EQ(poll_request(larger, sizeof larger), 8U);
    EXPECT_STREQ(larger, "eight888");
    EXPECT_EQ(poll_request(larger, sizeof larger), 0U);
    EXPECT_EQ(sink.poll_count, 1) << "told once";
    reply("");
    reply("{}");
    EXPECT_THAT(sink.replies, ElementsAre("{}"));
    set_request_sink(nullptr);
    reply("late");
    EXPECT_THAT(sink.replies, ElementsAre("{}"));
  }));
  EXPECT_EQ(losses(LossCause::kRefused), 0U);
}

TEST_F(HookRecorder, AStepThatOnlyPollsInVainIsIdle) {
  ASSERT_TRUE(in_child([](Recorder& recorder) {
    Sink sink;
    set_request_sink(&sink);
    char text[16];
    std::int64_t number = 0;
    const RegionId region_id = region("work");
    const auto idle_steps_of = [&](auto work, bool has_end = true) {
      const int before = sink.idle_steps;
      begin_step(number++);
      work();
      if (has_end) end_step();
      return sink.idle_steps - before;
    };
    const auto poll = [&] { (void)poll_request(text, sizeof text); };
    EXPECT_EQ(idle_steps_of(poll), 0)
        << "before the first poll nothing is known of where the step began";
    // A machine that is busy may hold a step up for longer than a poll takes: one of several is
    // enough.
    int idle = 0;
    for (int i = 0; i < 20; ++i) idle += idle_steps_of(poll);
    EXPECT_GT(idle, 0);
    int other = idle_steps_of([] {});
    other += idle_steps_of(poll, false);
    for (int i = 0; i < 20; ++i) {
      other += idle_steps_of([&] {
        poll();
        enter(region_id);
        leave(region_id);
      });
      offer_request("do this");
      other += idle_steps_of(poll);
      other += idle_steps_of([&] {
        poll();
        EventBuffer& calls = *recorder.buffer_of_this_thread();
        ASSERT_TRUE(calls.rebase(calls.base_ticks() + 1));  // as any record of a call
      });
      other += idle_steps_of([&] {
        poll();
        usleep(2000);
      });
    }
    EXPECT_EQ(other, 0);
    set_request_sink(nullptr);
  }));
}

TEST_F(HookRecorder, RequestsThatNoneAsksForAreForgottenAndCounted) {
  ASSERT_TRUE(in_child([](Recorder&) {
    Sink sink;
    set_request_sink(&sink);
    for (std::size_t i = 0; i < kMaxWaitingRequests + 3; ++i) offer_request(std::to_string(i));
    char text[8];
    EXPECT_EQ(poll_request(text, sizeof text), 1U);
    EXPECT_STREQ(text, "3");
    set_request_sink(nullptr);
  }));
  EXPECT_EQ(losses(LossCause::kRefused), 3U);
}

TEST_F(HookRecorder, AForkedChildIsAskedNothing) {
  ASSERT_TRUE(in_child([](Recorder&) {
    Sink sink;
    set_request_sink(&sink);
    offer_request("one");
    const pid_t child = fork();
    if (child == 0) {
      char text[8];
      reply("from the child");
      _exit(poll_request(text, sizeof text) == 0 && sink.replies.empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    set_request_sink(nullptr);
  }));
}

}  // namespace
}  // namespace megascope::hooks
