#include "core/hooks/kept.h"

#include "core/hooks/hooks.h"

#include <atomic>

namespace megascope::hooks {
namespace {

std::atomic<bool> g_is_kept{true};
std::atomic<WindowFollower> g_follower{nullptr};

}  // namespace

bool is_kept() noexcept { return g_is_kept.load(std::memory_order_relaxed); }
bool set_kept(bool is_kept) noexcept {
  return g_is_kept.exchange(is_kept, std::memory_order_relaxed) != is_kept;
}

void set_window_follower(WindowFollower follower) noexcept {
  g_follower.store(follower, std::memory_order_release);
}
void report_follower(bool is_kept) noexcept {
  if (const WindowFollower follower = g_follower.load(std::memory_order_acquire)) follower(is_kept);
}

}  // namespace megascope::hooks
