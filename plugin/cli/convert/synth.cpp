#include "analysis/synth/synth.h"

#include "analysis/synth/truth.h"
#include "core/base/safe_file.h"
#include "core/base/text.h"
#include "core/trace/trace_writer.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/convert/convert.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdio>
#include <optional>

namespace megascope::cli {
namespace {

using synth::Fault;
using synth::FaultKind;
using synth::RunSpec;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

template <class Number>
bool read_number(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

std::optional<FaultKind> kind_of(const std::string& name) {
  for (const FaultKind kind : synth::kFaultKinds) {
    if (synth::name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

/// Parses
/// "<kind>@<where>[-<to>][,x=<severity>][,from=<step>][,to=<step>][,every=<active>/<period>]".
bool read_fault(const std::string& text, Fault& fault) {
  const std::vector<std::string> parts = split(text, ',');
  const std::vector<std::string> head = split(parts[0], '@');
  const std::optional<FaultKind> kind = kind_of(head[0]);
  if (!kind || head.size() != 2) return false;
  fault.kind = *kind;
  const std::vector<std::string> ends = split(head[1], '-');
  bool is_good = ends.size() <= 2 && read_number(ends[0], fault.where) &&
                 (ends.size() == 1 || read_number(ends[1], fault.to));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::vector<std::string> pair = split(parts[i], '=');
    if (pair.size() != 2) return false;
    const std::vector<std::string> every = split(pair[1], '/');
    if (pair[0] == "x")
      is_good &= read_number(pair[1], fault.severity);
    else if (pair[0] == "from")
      is_good &= read_number(pair[1], fault.onset);
    else if (pair[0] == "to")
      is_good &= read_number(pair[1], fault.last);
    else if (pair[0] == "every")
      is_good &= every.size() == 2 && read_number(every[0], fault.active) &&
                 read_number(every[1], fault.period);
    else
      return false;
  }
  return is_good;
}

Status read_spec(const SynthArguments& arguments, RunSpec& spec) {
  spec = {};
  if (arguments.pattern == "interleaved") spec.pattern = synth::Pattern::kInterleaved;
  if (arguments.pattern == "halo") spec.pattern = synth::Pattern::kHalo;
  spec.tp = arguments.tp;
  spec.pp = arguments.pp;
  spec.dp = arguments.dp;
  spec.grid_x = arguments.grid_x;
  spec.grid_y = arguments.grid_y;
  spec.steps = arguments.steps;
  spec.micro_batches = arguments.micro_batches;
  spec.layers = arguments.layers;
  spec.ranks_per_host = arguments.ranks_per_host;
  spec.seed = arguments.seed;
  spec.noise.sigma = spec.noise.link_sigma = arguments.noise;
  spec.noise.pareto_share = arguments.pareto;
  spec.noise.pause_share = arguments.pauses;
  spec.clocks = {arguments.clock_offset_ns, arguments.clock_drift_ppm};
  for (const std::string& text : arguments.faults) {
    Fault fault;
    if (!read_fault(text, fault)) {
      return Status::error(
          "cannot read the fault " + text +
          "; examples: slow_compute@5,x=0.1,from=10,every=1/3 and slow_link@2-3,x=9");
    }
    spec.faults.push_back(fault);
  }
  return synth::check(spec);
}

nlohmann::ordered_json json_of(const synth::TrueRootCause& root_cause) {
  nlohmann::ordered_json json;
  json["kind"] = synth::name_of(root_cause.kind);
  json["ranks"] = root_cause.ranks;
  json["hosts"] = root_cause.hosts;
  json["groups"] = root_cause.groups;
  json["factor"] = root_cause.factor;
  json["onset_step"] = root_cause.onset_step;
  json["last_step"] = root_cause.last_step;
  return json;
}

Status write_truth(const RunSpec& spec, const std::string& path) {
  nlohmann::ordered_json json;
  json["ranks"] = spec.rank_count();
  json["steps"] = spec.steps;
  json["seed"] = spec.seed;
  json["culprits"] = nlohmann::ordered_json::array();
  for (const synth::TrueRootCause& root_cause : synth::truth_of(spec))
    json["culprits"].push_back(json_of(root_cause));
  json["clocks"] = nlohmann::ordered_json::array();
  for (const synth::RankClock& clock : synth::clocks_of(spec)) {
    json["clocks"].push_back({{"offset_ns", clock.offset_ns}, {"drift_ppm", clock.drift_ppm}});
  }
  return files::write_file(path, json.dump(1) + '\n', 0666);
}

Status write_traces(const RunSpec& spec, const synth::SynthRun& run, const std::string& directory) {
  std::vector<trace::TraceClock> clocks;
  const bool is_one_clock = spec.clocks.offset_ns == 0.0 && spec.clocks.drift_ppm == 0.0;
  for (const synth::RankClock& clock : synth::clocks_of(spec)) {
    clocks.push_back({clock.offset_ns, clock.drift_ppm,
                      is_one_clock ? "common" : synth::Layout::host_name(clock.host), 0});
  }
  const Status status = files::make_directory(directory, 0777);
  if (!status.is_ok()) return status;
  return trace::write_run(run, directory, clocks);
}

}  // namespace

int make_synthetic_run(const SynthArguments& arguments) {
  RunSpec spec;
  Status status = read_spec(arguments, spec);
  if (status.is_ok()) {
    const synth::SynthRun run(spec);
    status = write_traces(spec, run, arguments.out);
    if (status.is_ok())
      std::printf("%llu calls of %d ranks in %s\n",
                  static_cast<unsigned long long>(run.call_count()), run.world_size(),
                  printable(arguments.out).c_str());
  }
  if (status.is_ok() && !arguments.truth.empty()) status = write_truth(spec, arguments.truth);
  if (status.is_ok()) return kSuccess;
  say(status.message());
  return kUnusable;
}

}  // namespace megascope::cli
