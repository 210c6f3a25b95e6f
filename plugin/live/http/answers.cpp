#include "plugin/live/http/answers.h"

#include "core/record/point.h"
#include "plugin/live/http/page.h"
#include "plugin/live/hub/hello.h"
#include "plugin/live/hub/hub.h"
#include "plugin/live/protocol/json_fields.h"

#include <nlohmann/json.hpp>

#include <array>
#include <string>

namespace megascope::live {
namespace {

using Json = nlohmann::json;

constexpr std::array kMethods{"mean", "max", "min", "std", "norm", "sum", "absmax", "rms"};

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
  if (path == "/api/v1/run")
    return {.body = dumped(run_json(hub.settings(), hub.is_running(), hub.request_queue()))};
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
