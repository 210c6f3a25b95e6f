#include "plugin/run/live.h"

#include "core/lifecycle/module_loader.h"
#include "plugin/capture/rank_update.h"

#include <new>

namespace megascope::run {

LiveSettings live_settings(const config::Options& options) {
  LiveSettings settings;
  settings.port = options.live.port;
  settings.hosts = options.live_hosts.items;
  if (options.live_compat.is_on) settings.compat_port = options.live_compat.port;
  settings.unauthenticated_bytes_per_second = options.live_unauthenticated_rate;
  settings.unauthenticated_cpu_percent = static_cast<double>(
      options.live_unauthenticated_cpu.value);
  settings.is_control_allowed = options.live_control == config::LiveControl::kAllow;
  settings.vectors_directory = options.live_vectors;
  return settings;
}

Status open_live_view(const std::string& directory, const LiveSettings& settings,
                      LiveServer*& server, std::string& url) {
  server = nullptr;
  const ModuleTable* module = nullptr;
  Status status = load_module(directory, "live", module);
  if (!status.is_ok()) return status;
  if (module->make_live_server == nullptr) return Status::error("the module `live` has no server");
  LiveServer* const made = module->make_live_server();
  if (made == nullptr) return Status::error("out of memory");
  status = made->open(settings, url);
  if (status.is_ok()) server = made;
  return status;
}

void show_notice(LiveServer& server, std::int32_t world_rank, const std::string& text) noexcept {
  try {
    capture::RankUpdateWriter rank_update;
    rank_update.add(capture::Notice{.capture_request = 0, .text = text});
    server.take(LiveKind::kRankUpdate, world_rank, rank_update.take());
  } catch (const std::bad_alloc&) {
    // The text is also on standard error.
  }
}

}  // namespace megascope::run
