#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/record/user_regions.h"
#include "core/trace/reader.h"
#include "mpi_layer/own_communication/mpi_collective.h"
#include "mpi_layer/own_communication/step_control.h"
#include "plugin/steps/step_exchange.h"
#include "plugin/tensors/statistics_sink.h"
#include "tests/control/fake_world.h"
#include "tests/hooks/no_runtime.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

/// StepControl and StepExchange of several ranks, without an MPI library (fake_world.h).
namespace megascope::steps {
namespace {

using mpi::Fn;
using test::FakeWorld;
using test::Fault;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

static_assert(bytes_of_block(kMaxSlots) <= FakeWorld::kMaxBytes);
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr const char* kNorm = "w/layer 0/grad_reduced/global norm";

struct Plan {
  std::uint64_t timeout_ns = 60 * kSecond;
  hooks::StepWindow window = {};
  std::uint64_t capture_count = 0;
  Fault fault = {};
};

void show(const std::string& name, std::span<const double> part) {
  TensorView view;
  view.name = name;
  view.shape.kind = TensorKind::kGradReduced;
  view.shape.type = ElementType::kFloat64;
  view.shape.layer = 0;
  view.shape.split_dimension = 0;
  view.shape.dimension_count = 1;
  view.shape.extents[0] = part.size();
  view.strides[0] = 1;
  view.data = part.data();
  hooks::show_slow_path(view);
}

/// Rank r has r + 1 elements, each (r + 1) * (step + 1): the whole's norm is 6 (step + 1).
void begin_and_show(int rank, std::int64_t step, std::int64_t number) {
  hooks::begin_step(number);
  const std::vector<double> part(static_cast<std::size_t>(rank) + 1,
                                 static_cast<double>((rank + 1) * (step + 1)));
  show("w", part);
}
void begin_and_show(int rank, std::int64_t step) { begin_and_show(rank, step, step); }

std::vector<double> norms(int steps) {
  std::vector<double> all;
  for (int step = 0; step < steps; ++step) all.push_back(6.0 * (step + 1));
  return all;
}

class Exchange : public testing::Test {
 protected:
  std::string path(int rank, const char* suffix) const {
    return directory_ / ("rank-" + std::to_string(rank) + suffix);
  }

  /// Runs `program` as each rank, in a process of its own, from the end of MPI_Init to the
  /// beginning of MPI_Finalize.
  void run(const std::function<void(int rank)>& program, const Plan& plan = {}) {
    FakeWorld world;
    std::vector<pid_t> children;
    for (int rank = 0; rank < FakeWorld::kRanks; ++rank) {
      children.push_back(fork());
      if (children.back() == 0) be(rank, world, program, plan);
    }
    for (int rank = 0; rank < FakeWorld::kRanks; ++rank) {
      int status = 0;
      waitpid(children[static_cast<std::size_t>(rank)], &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "rank " << rank;
    }
  }

  /// Does not return.
  void be(int rank, FakeWorld& world, const std::function<void(int rank)>& program,
          const Plan& plan) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    world.become(rank, plan.fault);
    auto* const recorder = new Recorder({.path = path(rank, ".mgt"),
                                         .size_bytes = 64 << 20,
                                         .policy = BufferPolicy::kStop,
                                         .use_tsc = false,
                                         .has_windows = !plan.window.has_all()});
    ProcessInfo info;
    info.run_id = "test";
    info.pid = getpid();
    info.world_rank = rank;
    info.world_size = FakeWorld::kRanks;
    EXPECT_TRUE(recorder->open(info).is_ok());
    auto* const exchange = new StepExchange(true, plan.capture_count, nullptr);
    hooks::set_tensor_sink(
        new tensors::StatisticsSink({{.pattern = "*"}}, &exchange->shown_tensors(), nullptr));
    auto* const all = mpi::make_world_collective().release();
    mpi::open_step_control(all,
                           {.reduction = exchange, .settings = 0, .timeout_ns = plan.timeout_ns},
                           /*thread_level=*/1);
    hooks::open(*recorder, hooks::kRegions | hooks::kShows, plan.window);
    EXPECT_TRUE(all->barrier().is_ok());
    program(rank);
    mpi::g_step_control->finish();
    hooks::close();
    EXPECT_TRUE(recorder->finish(EndState::kFinalized).is_ok());
    std::ofstream file(path(rank, ".txt"));
    for (const std::string& note : exchange->notes()) file << note << "\n";
    for (const std::string& complaint : complaints) file << complaint << "\n";
    EXPECT_TRUE(world.has_programs_handler());
    EXPECT_EQ(world.program_error_count(), 0);
    const bool is_faulty = plan.fault.rank >= 0;
    EXPECT_TRUE(is_faulty || world.object_count() == 1)
        << "all but the communicator of all ranks is freed: " << world.object_count();
    file.close();
    _exit(HasFailure() ? 1 : 0);
  }

  /// What the rank has to tell its user.
  std::vector<std::string> said(int rank) const {
    std::vector<std::string> lines;
    std::ifstream file(path(rank, ".txt"));
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  std::unique_ptr<trace::TraceFile> trace_of(int rank) const {
    std::unique_ptr<trace::TraceFile> file;
    EXPECT_TRUE(trace::TraceFile::open(path(rank, ".mgt"), file).is_ok());
    return file;
  }

  /// Values of a counter in order of time.
  std::vector<double> series(int rank, const std::string& name) const {
    const auto file = trace_of(rank);
    std::vector<double> values;
    for (const LocationDefinition& location : file->definitions().locations) {
      const auto points = file->points(location.id);
      for (Point point; points->next(point);) {
        if (point.kind == PointKind::kCounter &&
            file->definitions().counters[point.id].name == name)
          values.push_back(point.value);
      }
    }
    return values;
  }

  std::vector<std::int64_t> steps(int rank) const {
    const auto file = trace_of(rank);
    std::vector<std::int64_t> numbers;
    const auto calls = file->calls(0);
    for (Call call; calls->next(call);) {
      if (annotated_step(call) >= 0) numbers.push_back(annotated_step(call));
    }
    return numbers;
  }

  const test::TemporaryDirectory directory_;
};

TEST_F(Exchange, RanksThatAgreeReportTheWholeOfEachStepOnce) {
  run([](int rank) {
    for (int step = 0; step < 8; ++step) begin_and_show(rank, step);
  });
  EXPECT_EQ(series(0, kNorm), norms(8));
  EXPECT_EQ(series(0, "all/grad_reduced/global norm"), norms(8));
  EXPECT_EQ(series(0, "w/layer 0/grad_reduced/global count"), std::vector<double>(8, 6.0));
  EXPECT_EQ(series(0, "w/layer 0/grad_reduced/global max").back(), 24.0);
  EXPECT_EQ(series(0, "step/longest").size(), 7u);
  for (const int rank : {1, 2}) EXPECT_THAT(series(rank, kNorm), IsEmpty());
  for (const int rank : {0, 1, 2}) EXPECT_THAT(said(rank), IsEmpty());
}

TEST_F(Exchange, StepsThatAreOthersThanThoseOfOtherRanksAreLeftOut) {
  run([](int rank) {
    for (int step = 0; step < 8; ++step)
      begin_and_show(rank, step, rank == 1 && step >= 4 ? step + 100 : step);
  });
  EXPECT_EQ(series(0, kNorm), norms(3))
      << "of step 3 it is not known whether all ranks mean the same by its end";
  EXPECT_THAT(said(0),
              ElementsAre("statistics over all ranks are missing 5 times: ranks were in "
                          "different steps when they reported statistics (first: step 3)"));
}

TEST_F(Exchange, AStepThatDoesNotCountUpIsNoBoundary) {
  run([](int rank) {
    for (int step = 0; step < 8; ++step) {
      begin_and_show(rank, step);
      if (rank == 2 && step == 3) hooks::begin_step(1);
    }
  });
  std::vector<double> wanted = norms(8);
  wanted.erase(wanted.begin() + 3);
  EXPECT_EQ(series(0, kNorm), wanted);
  EXPECT_THAT(
      said(0),
      ElementsAre(HasSubstr("missing 1 time: step numbers of a rank did not increase (step 3)")));
}

TEST_F(Exchange, ARankThatStopsIsWaitedForOnce) {
  run(
      [](int rank) {
        for (int step = 0; step < (rank == 2 ? 3 : 40); ++step) begin_and_show(rank, step);
      },
      {.timeout_ns = kSecond});
  EXPECT_EQ(series(0, kNorm), norms(2));
  for (const int rank : {0, 1}) {
    EXPECT_THAT(said(rank),
                Contains("no more statistics over all ranks and no more decisions: other ranks "
                         "did not begin the step in time (MEGASCOPE_STEP_WAIT)"));
  }
  EXPECT_THAT(said(0), Contains(HasSubstr("ranks annotated different numbers of steps")));
  EXPECT_THAT(said(2), IsEmpty());
}

TEST_F(Exchange, UnequalNumbersOfStepsAreCompletedAtTheEnd) {
  run([](int rank) {
    for (int step = 0; step < 2 - rank; ++step) begin_and_show(rank, step);
  });
  EXPECT_THAT(series(0, kNorm), IsEmpty());
  EXPECT_THAT(said(0), Contains(HasSubstr("ranks annotated different numbers of steps")));
  EXPECT_THAT(said(0), Each(HasSubstr("are missing")));
}

TEST_F(Exchange, OneStepLessOnARankCostsTheLastOnesOnly) {
  run([](int rank) {
    for (int step = 0; step < (rank == 0 ? 6 : 7); ++step) begin_and_show(rank, step);
  });
  EXPECT_EQ(series(0, kNorm), norms(5));
}

TEST_F(Exchange, WhenMpiFailsNoneHangsAndTheProgramIsNotReported) {
  const std::multimap<Fn, std::pair<int, const char*>> faults{
      {Fn::Op_create, {0, "MPI failed to create a communicator, operator or datatype"}},
      {Fn::Type_contiguous, {3, "MPI failed to create a communicator, operator or datatype"}},
      {Fn::Type_commit, {6, "MPI failed to create a communicator, operator or datatype"}},
      {Fn::Iallreduce, {0, "MPI failed, or memory ran out"}},
      {Fn::Iallreduce, {3, "MPI failed, or memory ran out"}},
      {Fn::Test, {0, "MPI failed"}},
      {Fn::Test, {5, "MPI failed"}}};
  for (const auto& [fn, at] : faults) {
    SCOPED_TRACE(std::string(mpi::name_of(fn)) + " " + std::to_string(at.first));
    for (const int rank : {0, 1, 2}) {
      std::filesystem::remove(path(rank, ".mgt"));
      std::filesystem::remove(path(rank, ".txt"));
    }
    run(
        [](int rank) {
          for (int step = 0; step < 12; ++step) begin_and_show(rank, step);
        },
        {.timeout_ns = kSecond, .fault = {.rank = 1, .fn = fn, .call = at.first}});
    EXPECT_THAT(said(1), Contains(HasSubstr(at.second)));
    for (const int rank : {0, 2})
      EXPECT_THAT(said(rank), Contains(HasSubstr("other ranks did not begin the step in time")));
    const std::vector<double> reported = series(0, kNorm);
    EXPECT_LT(reported.size(), 8u);
    EXPECT_EQ(reported, norms(static_cast<int>(reported.size())))
        << "what was told before is right";
  }
}

TEST_F(Exchange, AllRanksDecideTheSameAtTheSameStep) {
  run(
      [](int rank) {
        for (int step = 0; step < 20; ++step) {
          begin_and_show(rank, step);
          const std::array<double, 1> bad{std::numeric_limits<double>::quiet_NaN()};
          if (rank == 1 && step == 2) show("bad", bad);
        }
      },
      {.window = {.start = 2, .interval = 10, .count = 1}, .capture_count = 4});
  const std::vector<std::int64_t> recorded = steps(0);
  ASSERT_EQ(recorded.size(), 6u);
  EXPECT_EQ(recorded[0], 2);
  for (std::size_t i = 2; i < 5; ++i)
    EXPECT_EQ(recorded[i], recorded[1] + static_cast<std::int64_t>(i) - 1);
  EXPECT_EQ(recorded[5], 12);
  for (const int rank : {1, 2}) EXPECT_EQ(steps(rank), recorded);
}

TEST_F(Exchange, SpaceForTensorsFollowsWhatIsShown) {
  constexpr int kSteps = 24;
  constexpr int kMany = 1500;  // more than there is space for at first
  run([](int rank) {
    for (int step = 0; step < kSteps; ++step) {
      begin_and_show(rank, step);
      const std::array<double, 2> part{3.0, 4.0};
      for (int i = 0; i < (step < 12 ? 10 : kMany); ++i) show("t" + std::to_string(i), part);
    }
  });
  EXPECT_EQ(series(0, "t9/layer 0/grad_reduced/global count").back(), 6.0);
  const std::string last = "t" + std::to_string(kMany - 1) + "/layer 0/grad_reduced/global ";
  EXPECT_EQ(series(0, last + "norm"),
            std::vector<double>(series(0, last + "norm").size(), std::sqrt(75.0)));
  // Whole models are told where nothing was left out: until the space was too small, and once there
  // was enough.
  const std::vector<double> whole = series(0, "all/grad_reduced/global count");
  EXPECT_GE(whole.size(), 12u + 6u);
  EXPECT_LT(whole.size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(whole[11], 6.0 + 10 * 6.0);
  EXPECT_EQ(whole.back(), 6.0 + kMany * 6.0);
  EXPECT_THAT(said(0), ElementsAre(HasSubstr("too many tensors for one step exchange")));
}

TEST_F(Exchange, OtherThreadsShowWhileStepsBegin) {
  run([](int rank) {
    std::atomic<bool> is_over{false};
    std::thread thread([&] {
      const std::array<double, 1> part{1.0};
      for (int i = 0; i < 2000 || !is_over; ++i) show("of the thread", part);
    });
    for (int step = 0; step < 30; ++step) {
      begin_and_show(rank, step);
      usleep(500);
    }
    is_over = true;
    thread.join();
  });
  EXPECT_EQ(series(0, kNorm), norms(30));
  for (const double count : series(0, "of the thread/layer 0/grad_reduced/global count"))
    EXPECT_GE(count, 3.0);
}

}  // namespace
}  // namespace megascope::steps
