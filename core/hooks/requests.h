#pragma once

#include "core/lifecycle/request_sink.h"

#include <cstddef>
#include <string>
#include <string_view>

/// Requests of clients of the live view to the application, and its answers. Any thread, any time,
/// as all hooks.
namespace megascope::hooks {

inline constexpr std::size_t kMaxWaitingRequests = 16;

/// Takes the oldest request, as JSON text with a terminating zero. Returns its length without the
/// zero; 0 if there is none. If it does not fit `size` bytes, it stays queued and nothing is
/// written.
std::size_t poll_request(char* text, std::size_t size) noexcept;
/// Called at step boundaries of the calling thread. A step is reported as idle (RequestSink) if the
/// application polled without success, recorded nothing by hooks or MPI calls, and the step took
/// less than 1 ms.
void note_step_begin() noexcept;
void note_step_end() noexcept;
/// Passes the application's answer to the sink. Ignored if nothing is recorded or served.
void reply(std::string_view text) noexcept;

/// Queues a request on which all ranks agreed at this step boundary, until the application polls
/// for it. If kMaxWaitingRequests are queued, the oldest is dropped and counted as refused
/// (refusals.h).
void offer_request(std::string text);
/// Sets the sink. Call before open(). It must exist until the process ends.
void set_request_sink(RequestSink* sink) noexcept;
/// Sets the function that is called after reply(), on the application's thread, so that answers are
/// sent soon. One function at a time.
using ReplyFollower = void (*)();
void set_reply_follower(ReplyFollower follower) noexcept;

}  // namespace megascope::hooks
