#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/hooks/requests.h"
#include "mpi_layer/mpi_collective.h"
#include "mpi_layer/step_control.h"
#include "plugin/tensors/statistics_sink.h"
#include "tests/control/fake_world.h"
#include "tests/hooks/no_runtime.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

/// What ranks tell rank 0 for the live view, and what its clients ask of all of them, without an
/// MPI library (fake_world.h).
namespace megascope::tensors {
namespace {

using test::FakeWorld;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kSecond = 1'000'000'000;

/// What this rank has to tell the test; rank 0's server writes it too.
std::vector<std::string> g_told;

Capture* g_capture = nullptr;  ///< of this rank

/// Its one client wants all statistics, and asks once.
struct ScriptedServer final : LiveServer {
  int letters_to_lose = 0;
  int rank_to_lose = -1;  ///< only letters of this one; -1: of all
  bool has_room_for_answers = true;
  int requests = 0;
  bool has_wishes = true;
  std::vector<std::string> no_notes;

  Status open(const LiveSettings&, std::string&) override { return Status::ok(); }
  const std::vector<std::string>& notes() const override { return no_notes; }
  bool take_whole(LiveKind kind, std::int32_t world_rank,
                  std::vector<std::byte>&& bytes) noexcept override {
    return take(kind, world_rank, bytes);
  }
  bool take(LiveKind kind, std::int32_t world_rank,
            std::span<const std::byte> bytes) noexcept override {
    if (kind == LiveKind::kBlock) {
      const StepHeader header = header_of(bytes);
      const bool is_one_step = header.flags == 0 && header.lowest_step == header.highest_step;
      if (is_one_step && header.highest_step >= 0)
        g_told.push_back("step " + std::to_string(header.highest_step));
      return true;
    }
    const std::string from = " of rank " + std::to_string(world_rank);
    if (letters_to_lose > 0 && (rank_to_lose < 0 || rank_to_lose == world_rank)) {
      if (contents_of(bytes).has_names) g_told.push_back("lost names" + from);
      return letters_to_lose--, false;
    }
    LetterReader reader(bytes);
    using Item = LetterReader::Item;
    for (Item item = reader.next(); item != Item::kEnd; item = reader.next()) {
      if (item == Item::kTensorName) g_told.push_back("name " + reader.tensor_name.name + from);
      if (item == Item::kTensorName)
        g_told.push_back("shape " + std::to_string(reader.tensor_name.shape.at(0)) + " of type " +
                         std::to_string(static_cast<int>(reader.tensor_name.type)));
      if (item == Item::kReply && !has_room_for_answers) return false;
      if (item == Item::kRequestFailed) g_told.push_back("failed " + reader.request_failed.text);
      if (item == Item::kReply) g_told.push_back("reply " + reader.reply.text + from);
      if (item == Item::kNotice) g_told.push_back("notice " + reader.notice.text);
      if (item == Item::kPolls) g_told.push_back("polls" + from);
      if (item == Item::kCounterReadings || item == Item::kPastReadings) {
        for (const double value : reader.counter_readings.values)
          g_told.push_back("loss " + std::to_string(static_cast<int>(value)) + from);
      }
      if (item == Item::kRankFacts) g_told.push_back("host " + reader.rank_facts.host + from);
      if (item == Item::kDamaged) g_told.push_back("damage" + from);
    }
    return true;
  }
  bool changed_wishes(std::vector<std::byte>& wishes) noexcept override {
    if (!std::exchange(has_wishes, false)) return false;
    Wish wish;
    wish.id = 1;
    wish.kind = WishKind::kStatistics;
    set_pattern(wish, "*");
    Wish loss;
    loss.id = 2;
    loss.kind = WishKind::kCounters;
    set_pattern(loss, "loss");
    wishes = pack_wishes(std::vector{wish, loss});
    return true;
  }
  bool next_request(std::string& request) noexcept override {
    request = "ask";
    return requests > 0 && requests-- > 0;
  }
  void begin_end(bool, std::uint64_t) noexcept override {}
  void conclude(std::string_view) noexcept override {}
  void close(bool, std::uint64_t) noexcept override {}
};

struct Plan {
  std::uint64_t patience_ns = 60 * kSecond;
  std::uint64_t patience_of_rank_0_ns = 60 * kSecond;
  int thread_level = 1;
  int letters_to_lose = 0;
  int rank_to_lose = -1;
  bool has_room_for_answers = true;
  int requests = 0;
  std::uint64_t sleep_after_ns = 60 * kSecond;
};

void begin_and_show(int rank, std::int64_t step) {
  hooks::begin_step(step);
  const std::vector<float> part(4, static_cast<float>(rank));
  TensorView view;
  view.name = "w";
  view.shape.kind = TensorKind::kGradReduced;
  view.shape.type = ElementType::kFloat32;
  view.shape.split_dimension = 0;
  view.shape.dimension_count = 1;
  view.shape.extents[0] = part.size();
  view.strides[0] = 1;
  view.data = part.data();
  hooks::show_slowly(view);
}

/// What the program finds when it polls behind the beginning of a step.
void poll(std::int64_t step) {
  char text[64];
  if (hooks::poll_request(text, sizeof text) != 0)
    g_told.push_back(std::string(text) + " at step " + std::to_string(step));
}

class LiveTalk : public testing::Test {
 protected:
  LiveTalk() {
    char name[] = "/tmp/live_talk-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~LiveTalk() override {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  using Program = std::function<void(int rank, Collective& all)>;

  void run(const Program& program, const Plan& plan = {}) {
    FakeWorld world;
    std::vector<pid_t> children;
    for (int rank = 0; rank < FakeWorld::kRanks; ++rank) {
      children.push_back(fork());
      if (children.back() == 0) be(rank, world, program, plan);
    }
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
  }

  /// Does not return.
  void be(int rank, FakeWorld& world, const Program& program, const Plan& plan) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    world.become(rank, {});
    const std::string path = folder_ + "/rank-" + std::to_string(rank);
    auto* const recorder = new Recorder({.path = path + ".mgt",
                                         .size_bytes = 64 << 20,
                                         .policy = BufferPolicy::kStop,
                                         .use_tsc = false,
                                         .has_windows = false});
    ProcessInfo info;
    info.run_id = "test";
    info.pid = getpid();
    info.world_rank = rank;
    info.world_size = FakeWorld::kRanks;
    EXPECT_TRUE(recorder->open(info).is_ok());
    g_capture = new Capture;
    auto* const talk = new StepTalk(false, 0, g_capture);
    auto* const server = new ScriptedServer;
    server->letters_to_lose = plan.letters_to_lose;
    server->rank_to_lose = plan.rank_to_lose;
    server->has_room_for_answers = plan.has_room_for_answers;
    server->requests = plan.requests;
    talk->sleep_after(plan.sleep_after_ns);
    talk->serve(rank == 0 ? server : nullptr);
    g_capture->introduce({.pid = getpid(), .host = "here", .place = {}});
    hooks::set_request_sink(g_capture);
    hooks::set_tensor_sink(new StatisticsSink({}, talk, g_capture));
    auto* const all = mpi::make_world_collective().release();
    mpi::open_step_control(
        all,
        {.port = talk,
         .settings = 0,
         .has_letters = true,
         .patience_ns = rank == 0 ? plan.patience_of_rank_0_ns : plan.patience_ns},
        plan.thread_level);
    hooks::open(*recorder, hooks::kRegions, {});
    EXPECT_TRUE(all->barrier().is_ok());
    program(rank, *all);
    mpi::g_step_control->finish();
    hooks::close();
    std::ofstream file(path + ".txt");
    for (const std::string& line : g_told) file << line << "\n";
    file.close();
    _exit(HasFailure() ? 1 : 0);
  }

  std::vector<std::string> told(int rank, const std::string& first_words = {}) const {
    std::vector<std::string> lines;
    std::ifstream file(folder_ + "/rank-" + std::to_string(rank) + ".txt");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(first_words)) lines.push_back(line);
    }
    return lines;
  }

  std::string folder_;
};

TEST_F(LiveTalk, PulsesOfAnotherThreadCostNoBoundary) {
  run(
      [](int rank, Collective&) {
        std::atomic<bool> is_over{false};
        std::thread thread([&] {
          while (!is_over) (void)mpi::g_step_control->pulse();
        });
        for (int step = 0; step < 30; ++step) begin_and_show(rank, step);
        is_over = true;
        thread.join();
      },
      {.thread_level = 3});
  std::vector<std::string> wanted;
  for (int step = 0; step < 30; ++step) wanted.push_back("step " + std::to_string(step));
  EXPECT_EQ(told(0, "step "), wanted);
}

TEST_F(LiveTalk, NamesComeWithShapeAndTypeOfTheWhole) {
  run([](int rank, Collective&) {
    for (int step = 0; step < 10; ++step) begin_and_show(rank, step);
  });
  EXPECT_THAT(told(0), Contains("name w of rank 2"));
  for (const std::string& shape : told(0, "shape "))
    EXPECT_EQ(shape, "shape 12 of type " + std::to_string(static_cast<int>(ElementType::kFloat32)));
  for (const int rank : {0, 1, 2})
    EXPECT_THAT(told(0, "host "), Contains("host here of rank " + std::to_string(rank)));
}

TEST_F(LiveTalk, WhatIsToldOnceIsToldAgainWhereLettersWereLost) {
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
      {.letters_to_lose = 18});
  for (const int rank : {0, 1, 2}) {
    for (int step = 0; step < 29; ++step)
      EXPECT_THAT(told(0), Contains("loss " + std::to_string(100 + step) + " of rank " +
                                    std::to_string(rank)));
    EXPECT_THAT(told(0), Contains("name w of rank " + std::to_string(rank)));
    EXPECT_THAT(told(0), Contains("host here of rank " + std::to_string(rank)));
    EXPECT_THAT(told(0), Contains("polls of rank " + std::to_string(rank)));
  }
}

/// Where rank 0 is behind, more letters are of no help.
TEST_F(LiveTalk, WhatIsToldOnceIsToldAgainSeldomAndByWhomItWasLost) {
  run(
      [](int rank, Collective& all) {
        for (int step = 0; step < 200; ++step) {
          begin_and_show(rank, step);
          EXPECT_TRUE(all.barrier().is_ok());
        }
      },
      {.letters_to_lose = 1'000'000, .rank_to_lose = 2});
  EXPECT_GE(told(0, "lost names of rank 2").size(), 2U);
  EXPECT_LE(told(0, "lost names of rank 2").size(), 20U);
  for (const int rank : {0, 1})
    EXPECT_EQ(told(0, "host here of rank " + std::to_string(rank)).size(), 1U);
}

/// Nobody can say that he looks no more.
TEST_F(LiveTalk, NothingIsShownWhereNoStepBeginsForLong) {
  run(
      [](int rank, Collective& all) {
        for (int step = 0; step < 20; ++step) begin_and_show(rank, step);
        EXPECT_NE(g_capture->wanted_kinds("w"), 0);
        for (int i = 0; i < 60; ++i) {
          usleep(10'000);
          (void)mpi::g_step_control->pulse();
        }
        EXPECT_EQ(g_capture->wanted_kinds("w"), 0);
        EXPECT_TRUE(all.barrier().is_ok());
        begin_and_show(rank, 20);
        EXPECT_NE(g_capture->wanted_kinds("w"), 0) << "a step has begun";
      },
      {.sleep_after_ns = 100'000'000});
  EXPECT_THAT(told(0, "notice "),
              testing::ElementsAre(
                  "notice no step has begun since step 19: tensors are captured again when the next step begins"));
}

TEST_F(LiveTalk, ALetterThatIsLostWithAnAnswerFailsTheRequest) {
  run(
      [](int rank, Collective& all) {
        for (int step = 0; step < 20; ++step) {
          begin_and_show(rank, step);
          poll(step);
          if (step == 10 && rank == 1) hooks::reply("answer");
          EXPECT_TRUE(all.barrier().is_ok());
        }
      },
      {.has_room_for_answers = false, .requests = 1});
  EXPECT_THAT(told(0, "failed "), Contains(HasSubstr("a reply was dropped")));
}

/// What is told once is not lost for answers that fill the letter, and of these none goes unheard
/// of.
TEST(LiveLetter, BeginsWithWhatIsToldOnce) {
  Capture capture;
  for (int i = 0; i < 9; ++i) capture.reply(std::string(kMostReplyBytes - 100, 'r'));
  capture.polls();
  capture.introduce({.pid = 1, .host = "here", .place = {}});
  capture.notify("note");
  using Item = LetterReader::Item;
  std::vector<Item> items;
  const std::vector<std::byte> letter = capture.take_letter();
  LetterReader reader(letter);
  for (Item item = reader.next(); item != Item::kEnd; item = reader.next()) items.push_back(item);
  ASSERT_GE(items.size(), 5U);
  EXPECT_THAT(
      std::vector(items.begin(), items.begin() + 4),
      testing::ElementsAre(Item::kRankFacts, Item::kPolls, Item::kRequestFailed, Item::kNotice));
  EXPECT_THAT(std::vector(items.begin() + 4, items.end()), testing::Each(Item::kReply));
  EXPECT_THAT(capture.take_letter(), IsEmpty());
}

TEST_F(LiveTalk, AllRanksAreGivenARequestAtOneBoundary) {
  run(
      [](int rank, Collective&) {
        for (int step = 0; step < 20; ++step) {
          if (rank == 1 && step < 8) usleep(5000);
          begin_and_show(rank, step);
          poll(step);
        }
      },
      {.requests = 1});
  ASSERT_EQ(told(0, "ask ").size(), 1U);
  for (const int rank : {1, 2}) EXPECT_EQ(told(rank, "ask "), told(0, "ask "));
}

/// Rank 0's time runs out for the block with the request, as rank 1 comes late; the others have it.
TEST_F(LiveTalk, ARequestThatOneRankWouldMissIsGivenToNone) {
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
        EXPECT_EQ(g_capture->wanted_kinds("w"), 0) << "nobody is there any more who could be told";
      },
      {.patience_of_rank_0_ns = 1'000'000, .requests = 2});
  for (const int rank : {0, 1, 2}) EXPECT_THAT(told(rank, "ask "), IsEmpty());
  const std::vector<std::string> failed = told(0, "failed ");
  ASSERT_EQ(failed.size(), 2U) << "who asked hears of it, and so does the next one";
  EXPECT_THAT(failed[1], HasSubstr("rank 0 has left the step exchange"));
  EXPECT_THAT(told(0, "notice "),
              Contains(HasSubstr(
                  "rank 0 stopped capturing: other ranks did not begin the step in time")));
}

TEST_F(LiveTalk, AnswersOfAProgramWithoutStepsComeAndAreNotCut) {
  run([](int rank, Collective&) {
    poll(0);
    hooks::reply(std::string(kMostReplyBytes + 1, 'x'));
    hooks::reply("answer " + std::to_string(rank));
  });
  for (const int rank : {0, 1, 2})
    EXPECT_THAT(told(0, "reply "), Contains("reply answer " + std::to_string(rank) + " of rank " +
                                            std::to_string(rank)));
  EXPECT_EQ(told(0, "reply ").size(), 3U);
  EXPECT_THAT(told(0, "damage"), IsEmpty());
}

}  // namespace
}  // namespace megascope::tensors
