#pragma once

#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/hooks/requests.h"
#include "mpi_layer/own_communication/mpi_collective.h"
#include "mpi_layer/own_communication/step_control.h"
#include "plugin/steps/step_exchange.h"
#include "plugin/tensors/statistics_sink.h"
#include "tests/control/fake_world.h"
#include "tests/hooks/no_runtime.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/// Runs the live view's part of the step exchange in forked processes, without an MPI library
/// (fake_world.h). Rank 0's server is scripted; each rank reports lines to the test.
namespace megascope::steps::live_exchange {

using test::FakeWorld;

inline constexpr std::uint64_t kSecond = 1'000'000'000;

/// Lines that this rank reports to the test; rank 0's server adds some.
inline std::vector<std::string> g_reported;

inline capture::Capture* g_capture = nullptr;  ///< of this rank

/// A server with one client, which requests all statistics and makes `requests` requests.
struct ScriptedServer final : LiveServer {
  int rank_updates_to_lose = 0;
  int rank_to_lose = -1;  ///< drops rank updates of this rank only; -1: of all
  bool has_space_for_answers = true;
  int requests = 0;
  bool has_capture_requests = true;
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
        g_reported.push_back("step " + std::to_string(header.highest_step));
      return true;
    }
    const std::string from = " of rank " + std::to_string(world_rank);
    if (rank_updates_to_lose > 0 && (rank_to_lose < 0 || rank_to_lose == world_rank)) {
      if (capture::contents_of(bytes).has_names) g_reported.push_back("lost names" + from);
      return rank_updates_to_lose--, false;
    }
    capture::RankUpdateReader reader(bytes);
    using Item = capture::RankUpdateReader::Item;
    for (Item item = reader.next(); item != Item::kEnd; item = reader.next()) {
      if (item == Item::kTensorName) g_reported.push_back("name " + reader.tensor_name.name + from);
      if (item == Item::kTensorName)
        g_reported.push_back("shape " + std::to_string(reader.tensor_name.shape.at(0)) +
                             " of type " +
                             std::to_string(static_cast<int>(reader.tensor_name.type)));
      if (item == Item::kReply && !has_space_for_answers) return false;
      if (item == Item::kRequestFailed)
        g_reported.push_back("failed " + reader.request_failed.text);
      if (item == Item::kReply) g_reported.push_back("reply " + reader.reply.text + from);
      if (item == Item::kNotice) g_reported.push_back("notice " + reader.notice.text);
      if (item == Item::kPolls) g_reported.push_back("polls" + from);
      if (item == Item::kCounterReadings || item == Item::kPastReadings) {
        for (const double value : reader.counter_readings.values)
          g_reported.push_back("loss " + std::to_string(static_cast<int>(value)) + from);
      }
      if (item == Item::kRankFacts) g_reported.push_back("host " + reader.rank_facts.host + from);
      if (item == Item::kDamaged) g_reported.push_back("damage" + from);
    }
    return true;
  }
  bool changed_capture_requests(std::vector<std::byte>& capture_requests) noexcept override {
    if (!std::exchange(has_capture_requests, false)) return false;
    capture::CaptureRequest capture_request;
    capture_request.id = 1;
    capture_request.kind = capture::CaptureRequestKind::kStatistics;
    capture::set_pattern(capture_request, "*");
    capture::CaptureRequest loss;
    loss.id = 2;
    loss.kind = capture::CaptureRequestKind::kCounters;
    capture::set_pattern(loss, "loss");
    capture_requests = capture::pack_capture_requests(std::vector{capture_request, loss});
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
  std::uint64_t timeout_ns = 60 * kSecond;
  std::uint64_t timeout_of_rank_0_ns = 60 * kSecond;
  int thread_level = 1;
  int rank_updates_to_lose = 0;
  int rank_to_lose = -1;
  bool has_space_for_answers = true;
  int requests = 0;
  std::uint64_t suspend_after_ns = 60 * kSecond;
};

inline void begin_and_show(int rank, std::int64_t step) {
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
  hooks::show_slow_path(view);
}

/// The application polls for a request after the begin of a step.
inline void poll(std::int64_t step) {
  char text[64];
  if (hooks::poll_request(text, sizeof text) != 0)
    g_reported.push_back(std::string(text) + " at step " + std::to_string(step));
}

class LiveExchange : public testing::Test {
 protected:
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
    const std::string path = directory_ / ("rank-" + std::to_string(rank));
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
    g_capture = new capture::Capture;
    auto* const step_exchange = new StepExchange(false, 0, g_capture);
    auto* const server = new ScriptedServer;
    server->rank_updates_to_lose = plan.rank_updates_to_lose;
    server->rank_to_lose = plan.rank_to_lose;
    server->has_space_for_answers = plan.has_space_for_answers;
    server->requests = plan.requests;
    step_exchange->suspend_after(plan.suspend_after_ns);
    step_exchange->serve(rank == 0 ? server : nullptr);
    g_capture->introduce({.pid = getpid(), .host = "here", .place = {}});
    hooks::set_request_sink(g_capture);
    hooks::set_tensor_sink(
        new tensors::StatisticsSink({}, &step_exchange->shown_tensors(), g_capture));
    auto* const all = mpi::make_world_collective().release();
    mpi::open_step_control(all,
                           {.reduction = step_exchange,
                            .mailbox = step_exchange->mailbox(),
                            .settings = 0,
                            .timeout_ns = rank == 0 ? plan.timeout_of_rank_0_ns : plan.timeout_ns},
                           plan.thread_level);
    hooks::open(*recorder, hooks::kRegions, {});
    EXPECT_TRUE(all->barrier().is_ok());
    program(rank, *all);
    mpi::g_step_control->finish();
    hooks::close();
    std::ofstream file(path + ".txt");
    for (const std::string& line : g_reported) file << line << "\n";
    file.close();
    _exit(HasFailure() ? 1 : 0);
  }

  std::vector<std::string> reported(int rank, const std::string& first_words = {}) const {
    std::vector<std::string> lines;
    std::ifstream file(directory_ / ("rank-" + std::to_string(rank) + ".txt"));
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(first_words)) lines.push_back(line);
    }
    return lines;
  }

  const test::TemporaryDirectory directory_;
};

}  // namespace megascope::steps::live_exchange
