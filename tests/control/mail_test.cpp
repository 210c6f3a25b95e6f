#include "core/buffer/recorder.h"
#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/own_communication/mpi_collective.h"
#include "mpi_layer/own_communication/step_control.h"
#include "mpi_layer/own_communication/step_mail.h"
#include "tests/control/counting_exchange.h"
#include "tests/control/fake_world.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {
std::atomic<std::size_t> g_max_bytes{
    std::numeric_limits<std::size_t>::max()};  ///< there is no memory for more at once
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = bytes <= g_max_bytes ? std::malloc(bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

/// Letters to rank 0, and who may carry them when.
namespace megascope::mpi {
namespace {

using test::CountingExchange;
using test::FakeWorld;

constexpr std::size_t kLarge = 2 * RankUpdateMessages::kBytes + 10'000;
constexpr std::size_t
    kLargest = 40 * RankUpdateMessages::kBytes;  ///< more than there is space for on the way:
                                                 ///< the letter behind it overtakes it

/// Runs `program` as each rank, in a process of its own.
void run(const std::function<void(int rank, Collective& all)>& program,
         const test::Fault& fault = {}) {
  FakeWorld world;
  std::vector<pid_t> children;
  for (int rank = 0; rank < FakeWorld::kRanks; ++rank) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    world.become(rank, fault);
    program(rank, *make_world_collective().release());
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

std::vector<std::string> rank_updates_of(int rank) {
  std::vector<std::string> rank_updates;
  for (int i = 0; i < 5; ++i)
    rank_updates.push_back(std::to_string(rank) + ": " + std::to_string(i) +
                           std::string(i == 2   ? kLarge
                                       : i == 3 ? kLargest
                                                : 10,
                                       'x'));
  return rank_updates;
}

void expect_all_rank_updates(const CountingExchange& exchange) {
  for (int rank = 0; rank < FakeWorld::kRanks; ++rank) {
    std::vector<std::string> mine;
    for (const auto& [from, text] : exchange.received) {
      if (from == rank) mine.push_back(text);
    }
    EXPECT_EQ(mine, rank_updates_of(rank)) << "rank " << rank;
  }
}

/// All begin no step: what they have to say is sent by pulses, and at the end.
void progress_tick_and_finish(int rank, Collective& all, CountingExchange& exchange) {
  auto* const control = new StepControl(
      &all,
      {.reduction = &exchange, .mailbox = &exchange, .settings = 0, .timeout_ns = 1'000'000'000},
      /*thread_level=*/1);
  if (!exchange.keeps_texts && rank == 0) g_max_bytes = kLarge / 2;
  while (exchange.to_send.size() > 1)
    (void)control->progress_tick();  // the last one is left for the end
  control->finish();
  g_max_bytes = std::numeric_limits<std::size_t>::max();
}

TEST(StepMail, BringsAllRankUpdatesInOrderWithoutAnyStep) {
  for (int trial = 0; trial < 4;
       ++trial) {  // the last letter overtakes the one before it in most of them
    run([](int rank, Collective& all) {
      CountingExchange exchange;
      exchange.to_send = rank_updates_of(rank);
      progress_tick_and_finish(rank, all, exchange);
      if (rank == 0) expect_all_rank_updates(exchange);
    });
  }
}

TEST(StepMail, WhereMemoryRunsOutNoRankUpdateIsLost) {
  run([](int rank, Collective& all) {
    std::size_t bytes = 0;
    for (const int from : {1, 2}) {
      for (const std::string& rank_update : rank_updates_of(from)) bytes += rank_update.size();
    }
    CountingExchange exchange;
    exchange.keeps_texts = false;
    if (rank != 0) exchange.to_send = rank_updates_of(rank);
    progress_tick_and_finish(rank, all, exchange);
    if (rank == 0) {
      EXPECT_EQ(exchange.received_bytes, bytes);
    }
  });
}

TEST(StepMail, ARankThatCannotSendKeepsNoneWaiting) {
  for (const int call : {0, 2, 4}) {
    run(
        [](int rank, Collective& all) {
          CountingExchange exchange;
          exchange.to_send = rank_updates_of(rank);
          auto* const control = new StepControl(&all,
                                                {.reduction = &exchange,
                                                 .mailbox = &exchange,
                                                 .settings = 0,
                                                 .timeout_ns = 1'000'000'000},
                                                1);
          for (int i = 0; i < 100; ++i) (void)control->progress_tick();
          control->finish();
        },
        {.rank = 1, .fn = Fn::Isend, .call = call});
  }
}

/// Rank 0 can take no more of rank updates that fill all space on the way: their ranks do not wait
/// for it.
TEST(StepMail, ARankThatCannotReceiveKeepsNoneWaiting) {
  for (const int call : {0, 1, 3}) {
    run(
        [](int rank, Collective& all) {
          CountingExchange exchange;
          if (rank != 0)
            exchange.to_send = {std::string(RankMailbox::kMaxRankUpdateBytes, 'x'), "last"};
          auto* const control = new StepControl(&all,
                                                {.reduction = &exchange,
                                                 .mailbox = &exchange,
                                                 .settings = 0,
                                                 .timeout_ns = 1'000'000'000},
                                                1);
          if (rank != 0) (void)control->progress_tick();
          control->finish();
        },
        {.rank = 0, .fn = Fn::Improbe, .call = call});
  }
}

struct ProgressTicks : testing::Test {
  CountingExchange exchange;
  StepControl* make(int level) {
    static std::vector<std::unique_ptr<StepControl>> all;
    return all
        .emplace_back(new StepControl(
            nullptr, {.reduction = &exchange, .mailbox = &exchange, .settings = 0, .timeout_ns = 1},
            level))
        .get();
  }
  /// (here, here in a hook, on another thread, there in a hook): who carries letters?
  std::array<int, 4> carried(int level) {
    StepControl* const control = make(level);
    std::array<int, 4> counts{};
    const auto count = [&](std::size_t at, auto&& call) {
      const int before = exchange.progress_ticks;
      call();
      counts[at] = exchange.progress_ticks - before;
    };
    count(0, [&] { (void)control->progress_tick(); });
    count(1, [&] { control->progress_tick_in_hook(); });
    std::thread([&] { count(2, [&] { (void)control->progress_tick(); }); }).join();
    std::thread([&] { count(3, [&] { control->progress_tick_in_hook(); }); }).join();
    return counts;
  }
};

TEST_F(ProgressTicks, AreOfThreadsThatMayCallMpi) {
  using testing::ElementsAre;
  EXPECT_THAT(carried(0), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(carried(1), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(carried(2), ElementsAre(1, 0, 1, 0)) << "in a hook another thread may be in MPI";
  EXPECT_THAT(carried(3), ElementsAre(1, 1, 1, 1));
}

TEST_F(ProgressTicks, OfOtherThreadsLeaveTheTimeInCallsAsItIs) {
  const test::TemporaryDirectory directory;
  auto* const recorder = new Recorder({.path = directory / "trace",
                                       .size_bytes = 64 << 20,
                                       .policy = BufferPolicy::kStop,
                                       .use_tsc = false,
                                       .has_windows = false});
  ProcessInfo info;
  info.run_id = "test";
  info.pid = getpid();
  info.world_size = 1;
  ASSERT_TRUE(recorder->open(info).is_ok());
  open_recording(*recorder, true);
  static MpiThread mine{};
  static MpiThread theirs{};
  StepControl* const control = make(3);
  MpiThread* const before = std::exchange(t_thread, &mine);
  const auto progress_tick_elsewhere = [&] {
    std::thread([&] {
      t_thread = &theirs;
      theirs.busy_ticks += 1'000'000'000;
      (void)control->progress_tick();
    }).join();
  };
  progress_tick_elsewhere();
  EXPECT_EQ(exchange.calls_ns, 0U) << "as long as no step begins the main thread's time counts";
  control->begin_step(0);
  progress_tick_elsewhere();
  mine.busy_ticks += 5'000'000;
  usleep(20'000);
  control->begin_step(1);
  EXPECT_NEAR(static_cast<double>(exchange.calls_ns), 5e6, 1e6);
  // A forked child has the parent's tables, and none of its MPI.
  const int boundaries = exchange.boundaries;
  const int progress_ticks = exchange.progress_ticks;
  const pid_t child = fork();
  if (child == 0) {
    control->begin_step(2);
    (void)control->progress_tick();
    control->progress_tick_in_hook();
    _exit(exchange.boundaries == boundaries && exchange.progress_ticks == progress_ticks ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  t_thread = before;
}

}  // namespace
}  // namespace megascope::mpi
