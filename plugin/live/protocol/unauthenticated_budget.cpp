#include "plugin/live/protocol/unauthenticated_budget.h"

#include "core/base/text.h"

#include <algorithm>
#include <ctime>

namespace megascope::live {
namespace {

constexpr double kSecondNs = 1e9;
constexpr std::int64_t kTurnNs = 1'000'000'000;  ///< a waiting client asks several times within it

std::uint64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

UnauthenticatedBudget::UnauthenticatedBudget(double bytes_per_second, double cpu_percent)
    : bytes_per_second_(bytes_per_second),
      cpu_ns_per_second_(cpu_percent * kSecondNs / 100.0),
      bytes_(bytes_per_second_ * kBurstSeconds),
      cpu_ns_(cpu_ns_per_second_ * kBurstSeconds) {}

bool UnauthenticatedBudget::is_open(std::int64_t now_ns) {
  const double seconds = since_ns_ == 0
                             ? 0.0
                             : static_cast<double>(std::max<std::int64_t>(now_ns - since_ns_, 0)) /
                                   kSecondNs;
  since_ns_ = now_ns;
  bytes_ = std::min(bytes_per_second_ * kBurstSeconds, bytes_ + seconds * bytes_per_second_);
  cpu_ns_ = std::min(cpu_ns_per_second_ * kBurstSeconds, cpu_ns_ + seconds * cpu_ns_per_second_);
  return bytes_ > 0.0 && cpu_ns_ > 0.0;
}

void UnauthenticatedBudget::spend(std::uint64_t bytes, std::uint64_t cpu_ns) {
  bytes_ -= static_cast<double>(bytes);
  cpu_ns_ -= static_cast<double>(cpu_ns);
  spent_bytes_ += bytes;
  spent_cpu_ns_ += cpu_ns;
}

bool UnauthenticatedTurn::has_come(std::int64_t now_ns) {
  if (budget_ == nullptr) return true;
  std::vector<UnauthenticatedTurn*>& waiting = budget_->waiting_;
  std::erase_if(waiting, [&](const UnauthenticatedTurn* turn) {
    return turn != this && now_ns - turn->asked_ns_ > kTurnNs;
  });
  asked_ns_ = now_ns;
  const bool is_first = waiting.empty() || waiting.front() == this;
  if (is_first && budget_->is_open(now_ns)) {
    leave();
    return true;
  }
  if (std::ranges::find(waiting, this) == waiting.end()) waiting.push_back(this);
  return false;
}

void UnauthenticatedTurn::leave() {
  if (budget_ != nullptr) std::erase(budget_->waiting_, this);
}

std::string budget_text(const LiveSettings& settings) {
  return "clients of this port get up to " +
         human_bytes(settings.unauthenticated_bytes_per_second) + "/s and " +
         std::to_string(static_cast<int>(settings.unauthenticated_cpu_percent)) +
         " % of a core together (MEGASCOPE_LIVE_GUEST_RATE, MEGASCOPE_LIVE_GUEST_CPU)";
}

UnauthenticatedCharge::UnauthenticatedCharge(UnauthenticatedBudget* budget)
    : budget_(budget), begin_ns_(budget == nullptr ? 0 : thread_cpu_ns()) {}

UnauthenticatedCharge::~UnauthenticatedCharge() {
  if (budget_ != nullptr) budget_->spend(bytes_, thread_cpu_ns() - begin_ns_);
}

}  // namespace megascope::live
