#include "plugin/live/server/service.h"

#include "plugin/live/http/access.h"
#include "plugin/live/protocol/unauthenticated_budget.h"
#include "plugin/live/server/background_thread.h"
#include "plugin/live/server/loop.h"
#include "plugin/live/server/url_file.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace megascope::live {
namespace {

constexpr std::uint64_t kJoinMarginMs = 2000;
/// Independent of the user's stack limit.
constexpr std::size_t kStackBytes = std::size_t{2} << 20;

/// Argument of the thread. It shares ownership of the loop, so that a thread that is given up never
/// uses freed memory.
struct Start {
  std::shared_ptr<Loop> loop;
  cpu_set_t busy;
};

void* run(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  make_background_thread("megascope-live", start->busy);
  start->loop->run();
  return nullptr;
}

/// Starts the thread with all signals blocked, because signals are for the application's threads.
int start_thread(pthread_t& thread, std::unique_ptr<Start> start) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int problem = pthread_create(&thread, &attributes, run, start.get());
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem == 0) static_cast<void>(start.release());
  return problem;
}

timespec in_ms(std::uint64_t delay_ms) {
  timespec at{};
  clock_gettime(CLOCK_REALTIME, &at);
  const std::uint64_t nanoseconds = static_cast<std::uint64_t>(at.tv_nsec) +
                                    delay_ms % 1000 * 1'000'000;
  at.tv_sec += static_cast<time_t>(delay_ms / 1000 + nanoseconds / 1'000'000'000);
  at.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
  return at;
}

}  // namespace

Service::~Service() {
  close(true, 0);
  // In a forked child the thread, sockets and eventfd belong to the parent: leaks the object
  // instead of destroying it.
  if (loop_ != nullptr && !is_at_home())
    static_cast<void>(new (std::nothrow) std::shared_ptr<Loop>(std::move(loop_)));
}

bool Service::is_at_home() const noexcept { return loop_ != nullptr && getpid() == process_; }

Status Service::open(const LiveSettings& settings, std::string& url) {
  try {
    return start(settings, url);
  } catch (const std::exception& problem) {
    return Status::error("port " + std::to_string(settings.port) +
                         " for the live view: " + problem.what());
  }
}

Status Service::start(const LiveSettings& settings, std::string& url) {
  if (loop_ != nullptr) return Status::error("the live view is already open");
  std::string token;
  Status status = make_token(token);
  if (!status.is_ok()) return status;
  std::uint16_t port = settings.port;
  LiveSettings shown = settings;
  if (!shown.run_directory.empty())
    shown
        .run_directory = std::filesystem::absolute(shown.run_directory).lexically_normal().string();
  auto loop = std::make_shared<Loop>(shown, token);
  status = loop->listen(port);
  if (!status.is_ok()) return status;
  open_compat(*loop, settings);
  url = "http://127.0.0.1:" + std::to_string(port) + "/?token=" + token;
  if (!settings.run_directory.empty()) status = write_url_file(settings.run_directory, url);
  if (!status.is_ok()) notes_.push_back("cannot write live_url: " + status.message());
  const int problem = start_thread(thread_,
                                   std::make_unique<Start>(Start{loop, affinity_of_this_thread()}));
  if (problem != 0) {
    remove_url_file(settings.run_directory);
    return Status::from_errno("cannot start the live view's thread", problem);
  }
  run_directory_ = settings.run_directory;
  process_ = getpid();
  loop_ = std::move(loop);
  return Status::ok();
}

/// Opens the compatibility endpoint. On failure the live view works without it.
void Service::open_compat(Loop& loop, const LiveSettings& settings) {
  if (!settings.compat_port) return;
  std::uint16_t port = *settings.compat_port;
  const Status status = loop.listen_compat(port);
  notes_.push_back(
      status.is_ok()
          ? "live view for clients of MegatronApp and Megatron's tensor tracer: ws://localhost:" +
                std::to_string(port) +
                " needs no access token: every user of this machine can read it" +
                (settings.is_control_allowed ? ", and request text generation" : "") + "; " +
                budget_text(settings)
          : "no live view for clients of MegatronApp and Megatron's tensor tracer: " +
                status.message());
}

bool Service::take(LiveKind kind, std::int32_t world_rank,
                   std::span<const std::byte> bytes) noexcept {
  return is_open() && loop_->take(kind, world_rank, bytes);
}

bool Service::take_whole(LiveKind kind, std::int32_t world_rank,
                         std::vector<std::byte>&& bytes) noexcept {
  return is_open() && loop_->take_whole(kind, world_rank, std::move(bytes));
}

bool Service::changed_capture_requests(std::vector<std::byte>& capture_requests) noexcept {
  return is_open() && loop_->changed_capture_requests(capture_requests);
}

bool Service::next_request(std::string& request) noexcept {
  return is_open() && loop_->next_request(request);
}

void Service::begin_end(bool is_aborted, std::uint64_t linger_ms) noexcept {
  if (!is_at_home() || is_ending_.exchange(true)) return;
  if (!run_directory_.empty()) remove_url_file(run_directory_);
  loop_->ask_to_end(is_aborted, linger_ms);
}

void Service::conclude(std::string_view verdict) noexcept {
  if (is_open() && is_ending_) loop_->conclude(verdict);
}

void Service::close(bool is_aborted, std::uint64_t linger_ms) noexcept {
  if (loop_ == nullptr) return;
  if (!is_at_home()) {
    // In a forked child the thread, sockets and eventfd belong to the parent: leaks the object
    // instead of destroying it.
    static_cast<void>(new (std::nothrow) std::shared_ptr<Loop>(std::exchange(loop_, nullptr)));
    return;
  }
  begin_end(is_aborted, linger_ms);
  if (is_closed_.exchange(true)) return;
  loop_->ask_to_close();
  if (is_aborted) {
    pthread_detach(thread_);
    return wait_shortly();
  }
  const timespec deadline = in_ms(linger_ms + kJoinMarginMs);
  if (pthread_timedjoin_np(thread_, nullptr, &deadline) != 0) pthread_detach(thread_);
}

/// After an abort, waits at most 100 ms for the last message to clients.
void Service::wait_shortly() const noexcept {
  constexpr int kMaxMs = 100;
  constexpr timespec kMillisecond{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int waited_ms = 0; waited_ms < kMaxMs && !loop_->is_over(); ++waited_ms)
    nanosleep(&kMillisecond, nullptr);
}

}  // namespace megascope::live
