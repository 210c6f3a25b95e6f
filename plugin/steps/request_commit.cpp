#include "plugin/steps/request_commit.h"

#include "core/hooks/requests.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace megascope::steps {

void RequestCommit::take_next(LiveServer& server) {
  std::string text;
  if (carried_.number != settled_number_ || !server.next_request(text)) return;
  ++carried_.number;
  // Truncated to kMaxRequestBytes, the limit that the server enforces.
  carried_.bytes = std::min(text.size(), carried_.text.size());
  std::ranges::copy_n(text.begin(), static_cast<std::ptrdiff_t>(carried_.bytes),
                      carried_.text.begin());
}

/// The second block after the one that brought a request has the acknowledgements of all ranks that
/// received it.
void RequestCommit::apply(const TailRequest& carried, std::uint64_t lowest_request) {
  if (blocks_until_settled_ != 0 && --blocks_until_settled_ == 0)
    settle(lowest_request >= received_number_ && !has_stopped_);
  if (carried.number <= received_number_) return;
  received_.assign(carried.text.data(), carried.bytes);
  received_number_ = carried.number;
  blocks_until_settled_ = 2;
}

void RequestCommit::settle(bool is_on_all_ranks) {
  settled_number_ = received_number_;
  if (!is_on_all_ranks) return fail("the request was rejected: some ranks no longer begin steps");
  capture_.begin_request();
  hooks::offer_request(std::exchange(received_, {}));
}

/// Reports the carried request as failed, once. Does nothing on ranks that carry none.
void RequestCommit::fail(const std::string& why) {
  if (failed_number_ == carried_.number) return;
  capture_.fail_request(why);
  failed_number_ = carried_.number;
}

void RequestCommit::stop(const char* reason) noexcept {
  has_stopped_ = true;
  if (carried_.number <= settled_number_) return;
  try {
    fail("rank 0 left the step exchange before all ranks had the request: " + std::string(reason));
  } catch (const std::bad_alloc&) {
  }
}

void RequestCommit::reject_next(LiveServer& server) noexcept {
  std::string text;
  if (!has_stopped_ || !server.next_request(text)) return;
  try {
    capture_.fail_request("rank 0 has left the step exchange");
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace megascope::steps
