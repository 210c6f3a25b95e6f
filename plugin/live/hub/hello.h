#pragma once

#include "core/lifecycle/live_server.h"
#include "plugin/live/hub/request_queue.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

/// The description of a run and of the server's limits (docs/live_protocol.md). Pure functions.
namespace megascope::live {

/// The object `run` of the message `hello`, which is also the response to /api/v1/run.
nlohmann::json run_json(const LiveSettings& settings, bool is_running,
                        const RequestQueue& request_queue);
/// The limits (bounds.h).
nlohmann::json bounds_json();
/// The message `hello`, the first one that a client gets.
std::string hello_text(const LiveSettings& settings, bool is_running,
                       const RequestQueue& request_queue);

}  // namespace megascope::live
