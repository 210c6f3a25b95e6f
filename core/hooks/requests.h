#pragma once

#include "core/lifecycle/request_sink.h"

#include <cstddef>
#include <string>
#include <string_view>

/// What clients of the live view ask the program to do, and its answers. Safe at any time and from
/// any thread, as all hooks.
namespace megascope::hooks {

inline constexpr std::size_t kMostWaitingRequests = 16;

/// The oldest request, JSON text, into `text` with a zero behind it, and it is no longer there.
/// Returns its length; 0: there is none. One that does not fit `size` stays, and nothing is
/// written.
std::size_t poll_request(char* text, std::size_t size) noexcept;
/// A step begins or ends on the calling thread. One in which the program asked for a request in
/// vain, recorded nothing else, neither by hooks nor by MPI calls, and which took less than a
/// millisecond, is reported as idle (RequestSink).
void note_step_begin() noexcept;
void note_step_end() noexcept;
/// The program answers; passed over where nobody can have asked.
void reply(std::string_view text) noexcept;

/// All ranks have agreed on a request at this boundary. Beyond kMostWaitingRequests the oldest is
/// forgotten, and counted.
void offer_request(std::string text);
/// Before open(). sink outlives the process.
void set_request_sink(RequestSink* sink) noexcept;
/// Called behind reply(), in the program's call, so that answers leave soon. One follower.
using ReplyFollower = void (*)();
void set_reply_follower(ReplyFollower follower) noexcept;

}  // namespace megascope::hooks
