#include "plugin/live/answers.h"

#include "plugin/capture/capture_request.h"
#include "plugin/live/bounds.h"
#include "plugin/live/hub.h"
#include "plugin/live/json_fields.h"
#include "plugin/live/page.h"

#include <nlohmann/json.hpp>

#include <array>
#include <set>
#include <string>

namespace megascope::live {
namespace {

using Json = nlohmann::json;

constexpr std::array kMethods{"mean", "max", "min", "std", "norm", "sum", "absmax", "rms"};

Json control_json(const RequestQueue& request_queue) {
  const std::string why = request_queue.why_not();
  return why.empty() ? Json{{"generate", true}} : Json{{"generate", false}, {"why", why}};
}

Json run_json(const Hub& hub) {
  const LiveSettings& settings = hub.settings();
  std::set<std::string> hosts;
  for (const LiveRank& rank : settings.ranks) hosts.insert(rank.host);
  return {{"program", settings.program},
          {"command", settings.command_line},
          {"directory", settings.run_directory},
          {"run_id", settings.run_id},
          {"ranks", settings.world_size},
          {"hosts", hosts},
          {"began_ms", static_cast<double>(settings.start_realtime_ns) * 1e-6},
          {"running", hub.is_running()},
          {"megascope", MEGASCOPE_VERSION_TEXT},
          {"control", control_json(hub.request_queue())}};
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

Json ranks_json(const LiveSettings& settings) {
  Json list = Json::array();
  for (const LiveRank& rank : settings.ranks)
    list.push_back({{"rank", rank.world_rank},
                    {"host", rank.host},
                    {"pid", rank.pid},
                    {"place", rank.coordinates}});
  return list;
}

Json tensors_json(const TensorCatalog& catalog) {
  Json list = Json::array();
  for (std::uint32_t id = 0; id < catalog.size(); ++id) {
    if (catalog[id].is_named) list.push_back(catalog.json_of(id));
  }
  return list;
}

Json counters_json(const CounterCatalog& catalog) {
  Json list = Json::array();
  for (std::uint32_t id = 0; id < catalog.size(); ++id) list.push_back(catalog.json_of(id));
  return list;
}

}  // namespace

std::string hello_text(const Hub& hub) {
  return dumped({{"type", "hello"},
                 {"protocol", 1},
                 {"megascope", MEGASCOPE_VERSION_TEXT},
                 {"run", run_json(hub)},
                 {"bounds", bounds_json()}});
}

Answer error_answer(unsigned status, const std::string& text) {
  return {.status = status, .body = dumped({{"error", text}})};
}

Answer no_token_answer() {
  static constexpr std::string_view kPage =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><link rel=\"icon\" "
      "href=\"data:,\"><title>MegaScope: no access</title>\n"
      "<style>:root{color-scheme:light dark}body{font:16px/1.5 "
      "system-ui,sans-serif;max-width:42em;margin:4em auto;padding:0 "
      "1em}code{background:#8882;padding:1px 5px;border-radius:4px}</style>\n"
      "<h1>This address has no valid access token</h1>\n"
      "<p>This is MegaScope's live view. The access token in the address is wrong or missing; each "
      "run has its own token.</p>\n"
      "<p>The right address is in the file <code>live_url</code> in the run directory, on the "
      "machine where the job was started; only the user who runs the job can read "
      "it:</p>\n<p><code>cat RUN_DIRECTORY/live_url</code></p>\n"
      "<p>Through a tunnel, keep <code>?token=</code> and its value, and replace the port by the "
      "tunnel's. More: "
      "<code>docs/live.md</code>, <code>megascope --help</code>.</p></html>\n";
  return {.status = 401, .type = "text/html; charset=utf-8", .body = std::string(kPage)};
}

Answer answer_to(std::string_view path, const Hub& hub) {
  if (path == "/") return {.type = "text/html; charset=utf-8", .body = std::string(page())};
  if (path == "/metrics")
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_text(hub)};
  if (path == "/api/v1/run") return {.body = dumped(run_json(hub))};
  if (path == "/api/v1/ranks") return {.body = dumped(ranks_json(hub.settings()))};
  if (path == "/api/v1/tensors") return {.body = dumped(tensors_json(hub.store().tensors))};
  if (path == "/api/v1/counters") return {.body = dumped(counters_json(hub.store().counters))};
  if (path == "/api/v1/options")
    return {.body = dumped(
                {{"bounds", bounds_json()}, {"methods", kMethods}, {"kinds", kTensorKindNames}})};
  if (path == "/ws/v1") return error_answer(426, "This path accepts WebSocket connections only.");
  return error_answer(404, "Unknown path.");
}

}  // namespace megascope::live
