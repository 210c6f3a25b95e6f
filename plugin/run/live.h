#pragma once

#include "core/base/status.h"
#include "core/config/options.h"
#include "core/lifecycle/live_server.h"

#include <cstdint>
#include <string>

namespace megascope::run {

/// Returns the settings of the live view that follow from the options. The caller sets the others.
/// Call only if MEGASCOPE_LIVE is on.
LiveSettings live_settings(const config::Options& options);

/// Loads the live view's module from `directory` and opens its port. server: never freed; nullptr
/// after an error. url: address for the user, including the token.
Status open_live_view(const std::string& directory, const LiveSettings& settings,
                      LiveServer*& server, std::string& url);

/// Sends a text to all clients. Ignored if memory runs out.
void show_notice(LiveServer& server, std::int32_t world_rank, const std::string& text) noexcept;

}  // namespace megascope::run
