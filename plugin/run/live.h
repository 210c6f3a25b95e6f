#pragma once

#include "core/base/status.h"
#include "core/config/options.h"
#include "core/lifecycle/live_server.h"

#include <cstdint>
#include <string>

namespace megascope::run {

/// What the page shows of the run, as far as this process knows it. options: MEGASCOPE_LIVE is on.
LiveSettings live_settings(const config::Options& options);

/// Opens the live view's module in `folder`, and its port. server: lives until the process ends;
/// nullptr after an error. url: for the user.
Status open_live_view(const std::string& folder, const LiveSettings& settings, LiveServer*& server,
                      std::string& url);

/// A sentence for everybody who looks. Nothing happens where memory runs out.
void show_notice(LiveServer& server, std::int32_t world_rank, const std::string& text) noexcept;

}  // namespace megascope::run
