#include "plugin/live/compat/requests.h"

#include "core/base/text.h"
#include "plugin/capture/tile_method.h"
#include "plugin/live/protocol/bounds.h"
#include "plugin/live/protocol/generate_request.h"
#include "plugin/live/protocol/json_fields.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace megascope::live {
namespace {

using Json = nlohmann::json;

constexpr const char* kFlags = "visualization_flags";
constexpr const char* kCompressors = "compressor_config";
constexpr const char* kPerturbations = "disturbance_configs";
constexpr std::uint32_t kQkvPixels = 96;
constexpr std::uint32_t kMlpPixels = 64;
constexpr std::size_t kMaxPath = 4096;

/// The reference implementations also send "True" and "False" as texts.
std::optional<bool> truth_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_string()) return std::nullopt;
  const std::string text = lower_case(value.get_ref<const std::string&>());
  if (text == "true") return true;
  return text == "false" ? std::optional(false) : std::nullopt;
}

/// The object in a field; an empty object if the field is absent.
const Json& object_named(Fields& fields, const char* name) {
  static const Json kNothing = Json::object();
  if (!fields.has(name)) return kNothing;
  if (fields[name].is_object()) return fields[name];
  fields.fail(name, "an object");
  return kNothing;
}

void read_method(Fields& fields, const std::string& where, kernels::TileMethod& method) {
  if (!fields.has("method")) return;
  std::string text;
  std::string problem;
  const bool is_empty = fields["method"].is_string() &&
                        fields["method"].get_ref<const std::string&>().empty();
  if (!is_empty) fields.text("method", capture::kMaxMethodBytes, text);
  if (!fields.problem().empty()) return;
  const std::optional<kernels::TileMethod> parsed = capture::parse_tile_method(text, problem);
  if (parsed)
    method = *parsed;
  else
    fields.fail(
        "The method of " + where + " is rejected: " + problem +
        ". The text is parsed, not evaluated: `data.mean(dim=-1)`, for example, is accepted.");
}

/// Parses {"pixels": 96, "method": "data.mean(dim=-1)"}; all fields are optional.
Compressor megatron_app_compressor(const Json& configuration, const CompatFlagRow& row,
                                   std::string& problem) {
  Compressor compressor;
  if (row.group.empty()) {  // attention is sent without reduction
    compressor.kind = CompressorKind::kNoOp;
    return compressor;
  }
  compressor.tiles = row.group == "QKV" ? kQkvPixels : kMlpPixels;
  const auto group = configuration.find(row.group);
  if (group == configuration.end()) return compressor;
  if (!group->is_object()) {
    problem = "`" + std::string(row.group) + "` in `compressor_config` must be an object.";
    return compressor;
  }
  Fields fields(*group);
  fields.number("pixels", 1, capture::kMaxTiles, compressor.tiles);
  read_method(fields, std::string(row.group), compressor.method);
  problem = fields.problem();
  return compressor;
}

/// Finds a compressor kind by name. False: unknown.
bool kind_named(std::string_view name, CompressorKind& kind) {
  constexpr std::string_view kSuffix = "Compressor";
  constexpr std::array<std::pair<std::string_view, CompressorKind>, 4> kKinds{
      {{"Tile", CompressorKind::kTile},
       {"NoOp", CompressorKind::kNoOp},
       {"Empty", CompressorKind::kEmpty},
       {"Projection", CompressorKind::kProjection}}};
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  const auto found = std::ranges::find(kKinds, name,
                                       &std::pair<std::string_view, CompressorKind>::first);
  if (found != kKinds.end()) kind = found->second;
  return found != kKinds.end();
}

/// Parses {"compressor_type": "Tile", "compressor_configs": {"tiles": 96, "method": …}}. Without it
/// the compressor is Empty.
Compressor tracer_compressor(const Json& configuration, const CompatFlagRow& row,
                             std::string& problem) {
  Compressor compressor;
  compressor.kind = CompressorKind::kEmpty;
  const auto entry = configuration.find(row.name);
  if (entry == configuration.end()) return compressor;
  const std::string where = "`" + std::string(row.name) + "` in `compressor_config`";
  const Json type = entry->is_object() ? entry->value("compressor_type", Json()) : Json();
  const Json settings = entry->is_object() ? entry->value("compressor_configs", Json::object())
                                           : Json();
  const bool is_named = type.is_string() &&
                        kind_named(type.get_ref<const std::string&>(), compressor.kind);
  if (!is_named || !settings.is_object()) {
    problem = where +
              " must be {\"compressor_type\": \"Tile\", \"NoOp\", \"Empty\" or \"Projection\", "
              "\"compressor_configs\": an object}.";
    return compressor;
  }
  Fields fields(settings);
  if (compressor.kind == CompressorKind::kTile) {
    fields.number("tiles", 1, capture::kMaxTiles, compressor.tiles);
    read_method(fields, where, compressor.method);
  }
  if (compressor.kind == CompressorKind::kProjection)
    fields.text("vector_path", kMaxPath, compressor.vector_path);
  problem = fields.problem();
  return compressor;
}

/// Detects the protocol of a configuration: only the tracer's has `compressor_type`, and some flags
/// are the tracer's only.
CompatForm form_of(const Json& flags, const Json& configuration) {
  const auto is_tracers = [](const Json& entry) {
    return entry.is_object() && entry.contains("compressor_type");
  };
  if (std::ranges::any_of(configuration, is_tracers)) return CompatForm::kTracer;
  if (configuration.contains("QKV") || configuration.contains("MLP"))
    return CompatForm::kMegatronApp;
  const auto has = [&](CompatFlag flag) { return flags.contains(row_of(flag).name); };
  const bool has_tracers = has(CompatFlag::kAttentionOutput) || has(CompatFlag::kHidden) ||
                           has(CompatFlag::kInputTokens);
  return has_tracers ? CompatForm::kTracer : CompatForm::kMegatronApp;
}

void check_names(const Json& flags, Fields& fields) {
  for (const auto& [name, value] : flags.items()) {
    if (!flag_named(name) && !is_ignored(name))
      return fields.fail("Unknown flag `" + name.substr(0, 64) + "`.");
    if (!truth_of(value)) return fields.fail(name.substr(0, 64), "true or false");
  }
}

/// Rejects perturbations: showing unperturbed values instead would mislead.
void check_perturbations(Fields& fields) {
  const Json& wanted = object_named(fields, kPerturbations);
  for (const auto& [name, value] : wanted.items()) {
    if (name.ends_with("_perturbation") && truth_of(value).value_or(false))
      return fields.fail(
          "`" + name.substr(0, 64) +
          "` is rejected: perturbation is not supported. The application continues unchanged.");
  }
}

CompatWatch read_watch(Fields& fields) {
  CompatWatch watch;
  const Json& flags = object_named(fields, kFlags);
  const Json& configuration = object_named(fields, kCompressors);
  check_perturbations(fields);
  check_names(flags, fields);
  if (!fields.problem().empty()) return watch;
  watch.form = form_of(flags, configuration);
  const auto pca = flags.find("MLP2_Plot");
  watch.wants_pca = pca != flags.end() && *truth_of(*pca);
  for (int i = 0; i < static_cast<int>(CompatFlag::kCount); ++i) {
    const CompatFlagRow& row = row_of(static_cast<CompatFlag>(i));
    const auto said = flags.find(row.name);
    const bool is_on = said == flags.end() ? row.is_on_by_default : *truth_of(*said);
    if (!is_on || number_of(row.flag, watch.form) == 0) continue;
    std::string problem;
    const Compressor compressor = watch.form == CompatForm::kTracer
                                      ? tracer_compressor(configuration, row, problem)
                                      : megatron_app_compressor(configuration, row, problem);
    if (!problem.empty()) fields.fail(problem);
    watch.flags.push_back({row.flag, compressor});
  }
  return watch;
}

CompatRequest read_object(const Json& message) {
  Fields fields(message);
  std::string type;
  fields.text("type", 32, type);
  if (!fields.problem().empty()) return CompatBad{fields.problem()};
  if (type == "ping") return CompatPing{};
  if (type == "worker_forward")
    return CompatBad{"`worker_forward` is rejected: ranks communicate through MPI."};
  if (type != "run_training_step" && type != "generate")
    return CompatBad{"Unknown message `" + type + "`; use run_training_step, generate or ping."};
  CompatGenerate generate{.watch = read_watch(fields), .request = {}};
  if (!fields.problem().empty()) return CompatBad{fields.problem()};
  if (type == "run_training_step") return std::move(generate.watch);
  std::string problem;
  generate.request = generate_request(message, kCompatNames, problem);
  if (!problem.empty()) return CompatBad{problem};
  return generate;
}

}  // namespace

CompatRequest read_compat_request(std::string_view text) {
  if (text.size() > kMaxMessageBytes) return CompatBad{"The message is larger than 64 KiB."};
  std::string problem;
  const Json message = parsed_object(text, problem);
  return problem.empty() ? read_object(message) : CompatBad{problem};
}

}  // namespace megascope::live
