#include "plugin/live/hub/hello.h"

#include "plugin/capture/capture_request.h"
#include "plugin/live/protocol/bounds.h"
#include "plugin/live/protocol/json_fields.h"

#include <nlohmann/json.hpp>

#include <set>
#include <string>

namespace megascope::live {

using Json = nlohmann::json;

namespace {

Json control_json(const RequestQueue& request_queue) {
  const std::string why = request_queue.why_not();
  return why.empty() ? Json{{"generate", true}} : Json{{"generate", false}, {"why", why}};
}

}  // namespace

Json run_json(const LiveSettings& settings, bool is_running, const RequestQueue& request_queue) {
  std::set<std::string> hosts;
  for (const LiveRank& rank : settings.ranks) hosts.insert(rank.host);
  return {{"program", settings.program},
          {"command", settings.command_line},
          {"directory", settings.run_directory},
          {"run_id", settings.run_id},
          {"ranks", settings.world_size},
          {"hosts", hosts},
          {"began_ms", static_cast<double>(settings.start_realtime_ns) * 1e-6},
          {"running", is_running},
          {"megascope", MEGASCOPE_VERSION_TEXT},
          {"control", control_json(request_queue)}};
}

Json bounds_json() {
  return {{"clients", kMaxClients},
          {"panels", kMaxSubscriptions},
          {"names", kMaxNames},
          {"name_bytes", capture::kCaptureRequestNameBytes - 1},
          {"wishes", capture::kMaxCaptureRequests},
          {"credits", kMaxCredits},
          {"message_bytes", kMaxMessageBytes},
          {"messages_per_second", kMessagesPerSecond},
          {"frame_bytes", kMaxFrameBytes},
          {"steps", kMaxSteps},
          {"series_bytes", kMaxSeriesBytes},
          {"tiles", capture::kMaxTiles},
          {"whole_elements", capture::kMaxWholeElements}};
}

std::string hello_text(const LiveSettings& settings, bool is_running,
                       const RequestQueue& request_queue) {
  return dumped({{"type", "hello"},
                 {"protocol", 1},
                 {"megascope", MEGASCOPE_VERSION_TEXT},
                 {"run", run_json(settings, is_running, request_queue)},
                 {"bounds", bounds_json()}});
}

}  // namespace megascope::live
