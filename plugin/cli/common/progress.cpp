#include "plugin/cli/common/progress.h"

#include "core/base/text.h"

#include <cstdio>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace megascope::cli {
namespace {

constexpr std::chrono::milliseconds kShowEvery{200};

}  // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)),
      start_(std::chrono::steady_clock::now()),
      shown_(start_),
      is_terminal_(isatty(STDERR_FILENO) == 1) {
  void* shared = mmap(nullptr, sizeof *calls_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                      -1, 0);
  if (shared != MAP_FAILED) calls_ = new (shared) std::atomic<std::uint64_t>(0);
}

Progress::~Progress() {
  if (calls_ != nullptr) munmap(calls_, sizeof *calls_);
}

std::function<void(std::uint64_t)> Progress::reporter(bool is_first) {
  return [this, is_first](std::uint64_t calls) { add(calls, is_first); };
}

void Progress::add(std::uint64_t calls, bool is_first) {
  if (calls_ != nullptr) calls_->fetch_add(calls, std::memory_order_relaxed);
  if (!is_first || !is_terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < kShowEvery) return;
  shown_ = now;
  is_shown_ = true;
  std::fprintf(stderr, "\r%s: %s\x1b[K", what_.c_str(), figures().c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
  is_shown_ = false;
}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string Progress::figures() const {
  const double rate = static_cast<double>(call_count()) / std::max(elapsed_s(), 1e-9);
  return human_count(call_count()) + " calls, " + human_count(static_cast<std::uint64_t>(rate)) +
         "/s";
}

}  // namespace megascope::cli
