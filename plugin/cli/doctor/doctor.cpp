#include "plugin/cli/doctor/doctor.h"

#include "core/base/version.h"
#include "core/config/environment.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/installation.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/doctor/checks.h"
#include "plugin/cli/launch/program_check.h"
#include "plugin/cli/launch/started.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

/// `megascope doctor`: runs the checks in order and prints the findings as text or JSON.
namespace megascope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kLimitMs = 10'000;

const char* word_of(Verdict verdict) {
  return verdict == Verdict::kOk ? "ok" : verdict == Verdict::kNote ? "note" : "problem";
}

struct NamedCheck {
  const char* about;
  std::function<Findings()> check;
};

Findings examine(const Subject& subject) {
  const config::LoadedOptions options = config::load_options(config::environment_entries());
  const NamedCheck checks[] = {
      {"library", check_library},
      {"exports", check_exports},
      {"options", [&] { return check_options(options); }},
      {"program", [&] { return check_subject(subject); }},
      {"mpi", [&] { return check_mpi(subject); }},
      {"launcher", [&] { return check_launcher(subject); }},
      {"root", [&] { return check_root(subject); }},
      {"ranks", [&] { return check_ranks(subject); }},
      {"preload", check_preloads},
      {"scratch", [&] { return check_scratch(options.values); }},
      {"directory", [&] { return check_run_directory(options.values); }},
      {"clock", [&] { return check_clock(options.values); }},
      {"ptrace", [] { return check_ptrace(); }},
      {"slurm", [&] { return check_slurm(subject); }},
      {"gpu", check_gpu},
  };
  Findings all;
  for (const NamedCheck& one : checks) {
    for (Finding& finding : bounded(one.about, one.check, kLimitMs))
      all.push_back(std::move(finding));
  }
  return all;
}

std::string text_of(const Findings& findings, std::size_t problem_count) {
  std::string text;
  for (const Finding& one : findings) {
    text += fmt::format("{:<8} {:<9} {}\n", word_of(one.verdict), one.about, printable(one.text));
    if (!one.remedy.empty()) text += fmt::format("{:<19}{}\n", "", printable(one.remedy));
  }
  const std::string found = problem_count == 0 ? "No problem found"
                                               : fmt::format("{} problem{}", problem_count,
                                                             problem_count == 1 ? "" : "s");
  return text + fmt::format("{}. For other causes of an empty run see {}\n", found,
                            page_path("nothing_recorded.md"));
}

std::string json_of(const Findings& findings, std::size_t problem_count) {
  Json all = Json::array();
  for (const Finding& one : findings)
    all.push_back({{"verdict", word_of(one.verdict)},
                   {"about", one.about},
                   {"text", one.text},
                   {"remedy", one.remedy}});
  const Json json = {{"version", kVersion}, {"problems", problem_count}, {"findings", all}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

int examine_machine(const DoctorArguments& arguments) {
  Subject subject;
  subject.command = arguments.command;
  if (!subject.command.empty()) {
    if (find_program(subject.command.front()).empty()) {
      say(subject.command.front() + " is not an executable program");
      return kUnusable;
    }
    subject.kind = kind_of(subject.command.front());
    subject.program = started_program(subject.command, subject.kind);
  }
  const Findings findings = examine(subject);
  const auto is_problem = [](const Finding& one) { return one.verdict == Verdict::kProblem; };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(findings, is_problem));
  std::fputs((arguments.as_json ? json_of(findings, count) : text_of(findings, count)).c_str(),
             stdout);
  return count == 0 ? kSuccess : kFinding;
}

}  // namespace megascope::cli
