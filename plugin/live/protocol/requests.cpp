#include "plugin/live/protocol/requests.h"

#include "plugin/capture/capture_request.h"
#include "plugin/capture/tile_method.h"
#include "plugin/live/protocol/bounds.h"
#include "plugin/live/protocol/generate_request.h"
#include "plugin/live/protocol/json_fields.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace megascope::live {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxName = capture::kCaptureRequestNameBytes - 1;
constexpr std::int64_t kInt32Min = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

bool is_pattern(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return !text.empty() && text.size() <= kMaxName && text.find('\0') == std::string::npos;
}

void read_names(Fields& fields, Subscribe& to) {
  if (!fields.has("names")) return;
  const Json& names = fields["names"];
  if (!names.is_array() || names.empty() || names.size() > kMaxNames ||
      !std::ranges::all_of(names, is_pattern))
    return fields.fail("names", "a list of 1 to " + std::to_string(kMaxNames) +
                                    " patterns of 1 to " + std::to_string(kMaxName) + " bytes");
  to.names = names.get<std::vector<std::string>>();
}

void read_layers(Fields& fields, Subscribe& to) {
  if (!fields.has("layers")) return;
  const Json& layers = fields["layers"];
  const bool is_pair = layers.is_array() && layers.size() == 2;
  const std::optional<std::int64_t> first = is_pair ? Fields::whole_number(layers[0])
                                                    : std::nullopt;
  const std::optional<std::int64_t> last = is_pair ? Fields::whole_number(layers[1]) : std::nullopt;
  if (!first || !last || *first > *last || *first < kInt32Min || *last > kInt32Max)
    return fields.fail("layers", "[first, last], whole numbers");
  to.first_layer = static_cast<std::int32_t>(*first);
  to.last_layer = static_cast<std::int32_t>(*last);
}

bool add_kind(const Json& value, std::vector<TensorKind>& kinds) {
  if (!value.is_string()) return false;
  const auto found = std::ranges::find(kTensorKindNames, value.get_ref<const std::string&>());
  if (found == kTensorKindNames.end()) return false;
  kinds.push_back(static_cast<TensorKind>(found - kTensorKindNames.begin()));
  return true;
}

void read_kinds(Fields& fields, Subscribe& to) {
  if (!fields.has("kinds")) return;
  const Json& kinds = fields["kinds"];
  const bool is_list = kinds.is_array() && kinds.size() <= kTensorKindNames.size();
  if (!is_list ||
      !std::ranges::all_of(kinds, [&](const Json& kind) { return add_kind(kind, to.kinds); }))
    fields.fail("kinds", "a list of tensor kinds, see /api/v1/options");
}

void read_view(Fields& fields, Subscribe& to) {
  if (!fields.has("view")) return;
  if (!fields["view"].is_object()) return fields.fail("view", "an object");
  Fields view(fields["view"]);
  std::string type;
  view.text("type", 16, type);
  to.is_whole = type == "whole";
  if (!to.is_whole && type != "tile") view.fail("type", "`tile` or `whole`");
  if (!to.is_whole) {
    view.number("tiles", 1, capture::kMaxTiles, to.tiles);
    view.number("keep", 0, kMaxTensorDimensions, to.keep);
    std::string method = "mean";
    if (view.has("method")) view.text("method", capture::kMaxMethodBytes, method);
    std::string problem;
    const std::optional<kernels::TileMethod> parsed = capture::parse_tile_method(method, problem);
    if (!parsed)
      view.fail("`method` is not valid: " + problem + ".");
    else
      to.method = *parsed;
  }
  if (!view.problem().empty()) fields.fail("view: " + view.problem());
}

void read_tensor(Fields& fields, Subscribe& to) {
  to.names.resize(1);
  fields.text("name", kMaxName, to.names[0]);
  if (to.names[0].find('\0') != std::string::npos) fields.fail("name", "a text without zeros");
  if (fields.has("kind") && !add_kind(fields["kind"], to.kinds))
    fields.fail("kind", "a tensor kind, see /api/v1/options");
  read_layers(fields, to);
  fields.number("micro_batch", -1, kInt32Max, to.micro_batch);
  fields.number("replica", 0, kInt32Max, to.replica);
  fields.number("every", 1, 1'000'000, to.every);
  read_view(fields, to);
  if (!fields.has("encoding")) return;
  std::string encoding;
  fields.text("encoding", 16, encoding);
  to.is_half = encoding == "f16";
  if (!to.is_half && encoding != "f32") fields.fail("encoding", "`f16` or `f32`");
}

void read_subscribe(Fields& fields, Subscribe& to) {
  std::string what;
  fields.text("what", 16, what);
  if (what == "tensor") {
    to.what = Subject::kTensor;
    return read_tensor(fields, to);
  }
  fields.number("since", 0, std::numeric_limits<std::int64_t>::max(), to.since);
  if (what == "steps") {
    to.what = Subject::kSteps;
  } else if (what == "counters") {
    to.what = Subject::kCounters;
    read_names(fields, to);
  } else if (what == "statistics") {
    to.what = Subject::kStatistics;
    read_names(fields, to);
    read_layers(fields, to);
    read_kinds(fields, to);
  } else if (what == "calls") {
    to.what = Subject::kCalls;
  } else {
    fields.fail("what", "`steps`, `counters`, `statistics`, `calls` or `tensor`");
  }
}

Request checked(const Fields& fields, const std::string& subscription, Request request) {
  if (fields.problem().empty()) return request;
  return BadRequest{fields.problem(), subscription};
}

std::string id_of(const Json& message) {
  const auto id = message.find("id");
  if (id == message.end() || !(id->is_number() || id->is_string())) return {};
  return dumped(*id);
}

Request read_ask(const Json& message) {
  Ask ask{.id = id_of(message), .request = {}};
  Fields fields(message);
  std::string what;
  std::string problem;
  fields.text("request", 32, what);
  if (fields.problem().empty() && what != "generate")
    fields.fail("Unknown request `" + what + "`; use generate.");
  if (!fields.problem().empty()) return BadRequest{fields.problem(), {}};
  ask.request = generate_request(message, kOwnNames, problem);
  if (!problem.empty()) return BadRequest{problem, {}};
  return ask;
}

Request read_object(const Json& message) {
  Fields fields(message);
  std::string type;
  fields.text("type", 32, type);
  if (!fields.problem().empty()) return BadRequest{fields.problem(), {}};
  if (type == "ping") return Ping{id_of(message)};
  if (type == "request") return read_ask(message);
  if (type != "subscribe" && type != "unsubscribe" && type != "credit")
    return BadRequest{
        "Unknown message `" + type + "`; use subscribe, unsubscribe, credit, request or ping.", {}};
  std::string subscription;
  fields.text("panel", kMaxSubscriptionName, subscription);
  if (!fields.problem().empty()) return BadRequest{fields.problem(), {}};
  if (type == "unsubscribe") return Unsubscribe{subscription};
  if (type == "credit") {
    Credit credit{.subscription = subscription};
    fields.number("frames", 1, kMaxCredits, credit.frames);
    return checked(fields, subscription, credit);
  }
  Subscribe subscribe;
  subscribe.subscription = subscription;
  read_subscribe(fields, subscribe);
  return checked(fields, subscription, subscribe);
}

}  // namespace

Request read_request(std::string_view text) {
  if (text.size() > kMaxMessageBytes) return BadRequest{"The message is larger than 64 KiB.", {}};
  std::string problem;
  const Json message = parsed_object(text, problem);
  return problem.empty() ? read_object(message) : BadRequest{problem, {}};
}

}  // namespace megascope::live
