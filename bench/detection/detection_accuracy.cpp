/// Precision and recall of the detection: README.md.
#include "bench/detection/scenario.h"
#include "bench/detection/score.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <vector>

namespace megascope::bench {
namespace {

struct Arguments {
  bool is_full = false;
  bool is_check = false;    ///< fail where a target of the table is missed
  std::uint64_t runs = 0;   ///< a cell; 0: as the grid says
  std::string cell;         ///< only cells whose name contains it
  std::uint64_t seed = 0;   ///< only this run
  std::uint64_t first = 1;  ///< seed of a cell's first run
  int jobs = 2;
  int listed = 3;  ///< runs a cell in which something was missed or accused
};

struct Task {
  Cell cell;
  std::uint64_t runs;
};

std::vector<std::string> cause_names() {
  std::vector<std::string> names;
  for (const synth::FaultKind kind : synth::kFaultKinds) names.push_back(synth::name_of(kind));
  return names;
}

std::vector<Task> grid(const Arguments& arguments) {
  const std::vector<std::string> causes = cause_names();
  std::vector<Task> tasks;
  const auto add = [&](const Cell& cell, std::uint64_t runs) {
    if (cell.name().find(arguments.cell) != std::string::npos)
      tasks.push_back({cell, arguments.runs != 0 ? arguments.runs : runs});
  };
  const std::uint64_t few = arguments.is_full ? 1000 : 60;
  for (const double noise : {0.02, 0.05, 0.1})
    add({"healthy", 0.0, noise, 20, 8}, arguments.is_full ? 3000 : 200);
  for (const int size : {32, 64})
    add({"healthy", 0.0, 0.05, 20, size}, arguments.is_full ? 1000 : 20);
  add({"healthy", 0.0, 0.1, 100, 8}, arguments.is_full ? 1000 : 30);
  for (const double severity : {0.02, 0.05, 0.1, 0.5}) {
    for (const std::string& cause : causes)
      add({cause, severity, 0.02, 20, 8}, arguments.is_full ? 3000 : few);
    add({"several", severity, 0.02, 20, 32}, arguments.is_full ? 1000 : 20);
  }
  for (const std::string& cause : causes) {
    add({cause, 0.1, 0.05, 20, 8}, few);
    if (!arguments.is_full) continue;
    add({cause, 0.1, 0.1, 20, 8}, few);
    add({cause, 0.05, 0.02, 60, 8}, few);
    add({cause, 0.1, 0.02, 20, 64}, 200);
    add({cause, 0.1, 0.02, 100, 8}, 300);
  }
  if (arguments.is_full) {
    for (const double severity : {0.02, 0.05, 0.1})
      add({"slow_compute", severity, 0.02, 20, 2}, 1000);
    for (const char* cause : {"healthy", "slow_compute", "slow_host"})
      add({cause, 0.1, 0.02, 20, 1024}, 30);
  }
  for (const double noise : {0.02, 0.05, 0.1})
    add({"healthy", 0.0, noise, 20, 8, 2}, arguments.is_full ? 3000 : 60);
  add({"healthy", 0.0, 0.05, 20, 32, 2}, arguments.is_full ? 1000 : 20);
  for (const double severity : {0.02, 0.05, 0.1, 0.5}) {
    for (const std::string& cause : causes)
      add({cause, severity, 0.02, 20, 8, 2}, arguments.is_full ? 3000 : few);
  }
  return tasks;
}

struct Outcome {
  Score score;
  double oracle = 0.0;  ///< root causes that an oracle would be sure of
  std::vector<std::string> listed;
};

void run_one(const Cell& cell, std::uint64_t seed, bool is_listed, Outcome& outcome) {
  const Scenario scenario = draw(cell, seed);
  const detect::Detection detection = detect::detect(*scenario.run);
  const Score score = score_run(scenario.truth, detection.root_causes);
  outcome.score.add(score);
  for (const OracleHint& hint : scenario.hints)
    outcome.oracle += oracle_chance(hint, *scenario.run);
  const bool is_flawed = score.found != score.truths || score.wrong != 0 ||
                         score.cause_right != score.found;
  if (!is_flawed && !is_listed) return;
  std::string text = "  seed " + std::to_string(seed) + ", " + scenario.text + ", " +
                     std::to_string(detection.step_count) + " steps; true:";
  for (const auto& root_cause : scenario.truth) text += " [" + text_of(root_cause) + "]";
  text += "; found:";
  for (const auto& root_cause : detection.root_causes) text += " [" + text_of(root_cause) + "]";
  for (const auto& limitation : detection.limitations) text += " (" + limitation + ")";
  outcome.listed.push_back(text);
}

Outcome run_task(const Task& task, const Arguments& arguments) {
  if (arguments.seed != 0) {
    Outcome outcome;
    run_one(task.cell, arguments.seed, true, outcome);
    return outcome;
  }
  std::vector<std::future<Outcome>> parts;
  for (int part = 0; part < arguments.jobs; ++part) {
    parts.push_back(std::async(std::launch::async, [&, part] {
      Outcome outcome;
      for (std::uint64_t i = static_cast<std::uint64_t>(part); i < task.runs;
           i += static_cast<std::uint64_t>(arguments.jobs))
        run_one(task.cell, arguments.first + i, false, outcome);
      return outcome;
    }));
  }
  Outcome all;
  for (auto& part : parts) {
    Outcome outcome = part.get();
    all.score.add(outcome.score);
    all.oracle += outcome.oracle;
    all.listed.insert(all.listed.end(), outcome.listed.begin(), outcome.listed.end());
  }
  return all;
}

std::string share(std::uint64_t hits, std::uint64_t count) {
  if (count == 0) return "-";
  const Bounds bounds = bounds_of(hits, count);
  char text[64];
  std::snprintf(text, sizeof text, "%.4f [%.4f, %.4f]", bounds.share, bounds.low, bounds.high);
  return text;
}

/// Of a trimmed grid, whose cells are small: what a regression breaks, not what chance does. The
/// targets and what is reached of them are in docs/detection.md.
bool is_missed(const Cell& cell, const Score& score) {
  const auto share_of = [](std::uint64_t a, std::uint64_t b) {
    return b == 0 ? 1.0 : static_cast<double>(a) / static_cast<double>(b);
  };
  if (cell.cause == "healthy")
    return score.accused_runs > 1 && share_of(score.accused_runs, score.runs) > 0.02;
  if (cell.noise > 0.021) return false;
  const bool is_hard = cell.cause == "slow_link" || cell.generator == 2 || cell.cause == "several";
  double least = cell.severity >= 0.05 ? 0.9 : 0.85;
  const double precision = 0.9;
  if (is_hard) least = cell.severity >= 0.1 ? 0.85 : cell.severity >= 0.05 ? 0.6 : 0.0;
  return share_of(score.found, score.truths) < least ||
         share_of(score.found, score.found + score.wrong) < precision ||
         share_of(score.cause_right, score.found) < 0.85;
}

int run(const Arguments& arguments) {
  bool has_missed = false;
  std::printf(
      "| cell | n | recall | oracle | precision | cause right | onset ± 1 | severity ± 20 %% | "
      "runs accused wrongly |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const Task& task : grid(arguments)) {
    const Outcome outcome = run_task(task, arguments);
    const Score& score = outcome.score;
    char oracle[32] = "-";
    if (score.truths != 0)
      std::snprintf(oracle, sizeof oracle, "%.4f",
                    outcome.oracle / static_cast<double>(score.truths));
    std::printf("| %s | %llu | %s | %s | %s | %s | %s | %s | %llu |\n", task.cell.name().c_str(),
                static_cast<unsigned long long>(score.runs),
                share(score.found, score.truths).c_str(), oracle,
                share(score.found, score.found + score.wrong).c_str(),
                share(score.cause_right, score.found).c_str(),
                share(score.onset_right, score.found).c_str(),
                share(score.factor_right, score.found).c_str(),
                static_cast<unsigned long long>(score.accused_runs));
    for (std::size_t i = 0;
         i < outcome.listed.size() && i < static_cast<std::size_t>(arguments.listed); ++i)
      std::printf("%s\n", outcome.listed[i].c_str());
    std::fflush(stdout);
    if (is_missed(task.cell, score)) {
      has_missed = true;
      std::printf("  MISSED the target of %s\n", task.cell.name().c_str());
    }
  }
  return arguments.is_check && has_missed ? 1 : 0;
}

}  // namespace
}  // namespace megascope::bench

int main(int argc, char** argv) {
  megascope::bench::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const auto value = [&] { return i + 1 < argc ? argv[++i] : const_cast<char*>("0"); };
    if (std::strcmp(argv[i], "--full") == 0)
      arguments.is_full = true;
    else if (std::strcmp(argv[i], "--check") == 0)
      arguments.is_check = true;
    else if (std::strcmp(argv[i], "--runs") == 0)
      arguments.runs = std::strtoull(value(), nullptr, 10);
    else if (std::strcmp(argv[i], "--cell") == 0)
      arguments.cell = value();
    else if (std::strcmp(argv[i], "--seed") == 0)
      arguments.seed = std::strtoull(value(), nullptr, 10);
    else if (std::strcmp(argv[i], "--first") == 0)
      arguments.first = std::strtoull(value(), nullptr, 10);
    else if (std::strcmp(argv[i], "--jobs") == 0)
      arguments.jobs = std::max(1, std::atoi(value()));
    else if (std::strcmp(argv[i], "--list") == 0)
      arguments.listed = std::atoi(value());
    else
      return std::fprintf(stderr,
                          "usage: detection_accuracy [--full] [--check] [--runs N] [--cell NAME] "
                          "[--seed N] [--first N] [--jobs N] [--list N]\n"),
             2;
  }
  return megascope::bench::run(arguments);
}
