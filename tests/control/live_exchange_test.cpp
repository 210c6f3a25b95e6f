#include "tests/control/live_exchange.h"

#include <algorithm>
#include <atomic>
#include <thread>

/// What ranks send to rank 0 for the live view, and what its clients request from all ranks.
namespace megascope::steps {
namespace {

using live_exchange::begin_and_show;
using live_exchange::g_capture;
using live_exchange::g_reported;
using live_exchange::kSecond;
using live_exchange::LiveExchange;
using live_exchange::Plan;
using live_exchange::poll;
using test::FakeWorld;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(LiveExchange, ProgressTicksOfAnotherThreadCostNoBoundary) {
  run(
      [](int rank, Collective&) {
        std::atomic<bool> is_over{false};
        std::thread thread([&] {
          while (!is_over) (void)mpi::g_step_control->progress_tick();
        });
        for (int step = 0; step < 30; ++step) begin_and_show(rank, step);
        is_over = true;
        thread.join();
      },
      {.thread_level = 3});
  std::vector<std::string> wanted;
  for (int step = 0; step < 30; ++step) wanted.push_back("step " + std::to_string(step));
  EXPECT_EQ(reported(0, "step "), wanted);
}

TEST_F(LiveExchange, NamesComeWithShapeAndTypeOfTheWhole) {
  run([](int rank, Collective&) {
    for (int step = 0; step < 10; ++step) begin_and_show(rank, step);
  });
  EXPECT_THAT(reported(0), Contains("name w of rank 2"));
  for (const std::string& shape : reported(0, "shape "))
    EXPECT_EQ(shape, "shape 12 of type " + std::to_string(static_cast<int>(ElementType::kFloat32)));
  for (const int rank : {0, 1, 2})
    EXPECT_THAT(reported(0, "host "), Contains("host here of rank " + std::to_string(rank)));
}

TEST_F(LiveExchange, WhatIsReportedOnceIsReportedAgainWhereRankUpdatesWereLost) {
  run(
      [](int rank, Collective& all) {
        poll(0);
        const CounterId loss = hooks::counter("loss", "nat");
        for (int step = 0; step < 30; ++step) {
          usleep(100'000);
          begin_and_show(rank, step);
          hooks::count(loss, 100.0 + step);
          EXPECT_TRUE(all.barrier().is_ok());
        }
      },
      {.rank_updates_to_lose = 18});
  for (const int rank : {0, 1, 2}) {
    for (int step = 0; step < 29; ++step)
      EXPECT_THAT(reported(0), Contains("loss " + std::to_string(100 + step) + " of rank " +
                                        std::to_string(rank)));
    EXPECT_THAT(reported(0), Contains("name w of rank " + std::to_string(rank)));
    EXPECT_THAT(reported(0), Contains("host here of rank " + std::to_string(rank)));
    EXPECT_THAT(reported(0), Contains("polls of rank " + std::to_string(rank)));
  }
}

/// Where rank 0 is behind, more letters are of no help.
TEST_F(LiveExchange, WhatIsReportedOnceIsReportedAgainSeldomAndByWhichItWasLost) {
  run(
      [](int rank, Collective& all) {
        for (int step = 0; step < 200; ++step) {
          begin_and_show(rank, step);
          EXPECT_TRUE(all.barrier().is_ok());
        }
      },
      {.rank_updates_to_lose = 1'000'000, .rank_to_lose = 2});
  EXPECT_GE(reported(0, "lost names of rank 2").size(), 2U);
  EXPECT_LE(reported(0, "lost names of rank 2").size(), 20U);
  for (const int rank : {0, 1})
    EXPECT_EQ(reported(0, "host here of rank " + std::to_string(rank)).size(), 1U);
}

/// No client can report that it looks no more.
TEST_F(LiveExchange, NothingIsShownWhereNoStepBeginsForLong) {
  run(
      [](int rank, Collective& all) {
        for (int step = 0; step < 20; ++step) begin_and_show(rank, step);
        EXPECT_NE(g_capture->wanted_kinds("w"), 0);
        for (int i = 0; i < 60; ++i) {
          usleep(10'000);
          (void)mpi::g_step_control->progress_tick();
        }
        EXPECT_EQ(g_capture->wanted_kinds("w"), 0);
        EXPECT_TRUE(all.barrier().is_ok());
        begin_and_show(rank, 20);
        EXPECT_NE(g_capture->wanted_kinds("w"), 0) << "a step has begun";
      },
      {.suspend_after_ns = 100'000'000});
  EXPECT_THAT(reported(0, "notice "),
              testing::ElementsAre("notice no step has begun since step 19: tensors are captured "
                                   "again when the next step begins"));
}

TEST_F(LiveExchange, ARankUpdateThatIsLostWithAnAnswerFailsTheRequest) {
  run(
      [](int rank, Collective& all) {
        for (int step = 0; step < 20; ++step) {
          begin_and_show(rank, step);
          poll(step);
          if (step == 10 && rank == 1) hooks::reply("answer");
          EXPECT_TRUE(all.barrier().is_ok());
        }
      },
      {.has_space_for_answers = false, .requests = 1});
  EXPECT_THAT(reported(0, "failed "), Contains(HasSubstr("a reply was dropped")));
}

/// What is told once is not lost for answers that fill the letter, and of these none goes unheard
/// of.
TEST(LiveRankUpdate, BeginsWithWhatIsReportedOnce) {
  capture::Capture capture;
  for (int i = 0; i < 9; ++i) capture.reply(std::string(capture::kMaxReplyBytes - 100, 'r'));
  capture.note_first_poll();
  capture.introduce({.pid = 1, .host = "here", .place = {}});
  capture.notify("note");
  using Item = capture::RankUpdateReader::Item;
  std::vector<Item> items;
  const std::vector<std::byte> rank_update = capture.take_rank_update();
  capture::RankUpdateReader reader(rank_update);
  for (Item item = reader.next(); item != Item::kEnd; item = reader.next()) items.push_back(item);
  ASSERT_GE(items.size(), 5U);
  EXPECT_THAT(
      std::vector(items.begin(), items.begin() + 4),
      testing::ElementsAre(Item::kRankFacts, Item::kPolls, Item::kRequestFailed, Item::kNotice));
  EXPECT_THAT(std::vector(items.begin() + 4, items.end()), testing::Each(Item::kReply));
  EXPECT_THAT(capture.take_rank_update(), IsEmpty());
}

TEST_F(LiveExchange, AllRanksAreGivenARequestAtOneBoundary) {
  run(
      [](int rank, Collective&) {
        for (int step = 0; step < 20; ++step) {
          if (rank == 1 && step < 8) usleep(5000);
          begin_and_show(rank, step);
          poll(step);
        }
      },
      {.requests = 1});
  ASSERT_EQ(reported(0, "ask ").size(), 1U);
  for (const int rank : {1, 2}) EXPECT_EQ(reported(rank, "ask "), reported(0, "ask "));
}

/// Rank 0's time runs out for the block with the request, as rank 1 comes late; the others have it.
TEST_F(LiveExchange, ARequestThatOneRankWouldMissIsGivenToNone) {
  run(
      [](int rank, Collective& all) {
        for (int step = 0; step < 20; ++step) {
          if (rank == 1 && step == 0) usleep(300'000);
          if (step > 2) {
            EXPECT_TRUE(all.barrier().is_ok());
          }
          begin_and_show(rank, step);
          poll(step);
        }
        EXPECT_EQ(g_capture->wanted_kinds("w"), 0) << "no client is left that could be told";
      },
      {.timeout_of_rank_0_ns = 1'000'000, .requests = 2});
  for (const int rank : {0, 1, 2}) EXPECT_THAT(reported(rank, "ask "), IsEmpty());
  const std::vector<std::string> failed = reported(0, "failed ");
  ASSERT_EQ(failed.size(), 2U) << "who asked hears of it, and so does the next one";
  EXPECT_THAT(failed[1], HasSubstr("rank 0 has left the step exchange"));
  EXPECT_THAT(
      reported(0, "notice "),
      Contains(HasSubstr("rank 0 stopped capturing: other ranks did not begin the step in time")));
}

TEST_F(LiveExchange, AnswersOfAProgramWithoutStepsComeAndAreNotCut) {
  run([](int rank, Collective&) {
    poll(0);
    hooks::reply(std::string(capture::kMaxReplyBytes + 1, 'x'));
    hooks::reply("answer " + std::to_string(rank));
  });
  for (const int rank : {0, 1, 2})
    EXPECT_THAT(reported(0, "reply "), Contains("reply answer " + std::to_string(rank) +
                                                " of rank " + std::to_string(rank)));
  EXPECT_EQ(reported(0, "reply ").size(), 3U);
  EXPECT_THAT(reported(0, "damage"), IsEmpty());
}

}  // namespace
}  // namespace megascope::steps
