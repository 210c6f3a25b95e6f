#include "core/base/text.h"
#include "core/base/version.h"
#include "core/trace/mapping_guard.h"
#include "plugin/cli/analyze/analyze.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/installation.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/convert/convert.h"
#include "plugin/cli/doctor/doctor.h"
#include "plugin/cli/entry/info.h"
#include "plugin/cli/entry/trace_info.h"
#include "plugin/cli/hang/hang.h"
#include "plugin/cli/report/report.h"
#include "plugin/cli/run/run.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

namespace megascope::cli {
namespace {

constexpr char kExitCodes[] =
    "Exit codes: 0 success, 1 a finding (commands that report findings), 2 invalid usage or input.";

/// The index at which the user's command begins: at `--`, else at the first word that is not an
/// option of `run`.
std::size_t command_start(const std::vector<std::string>& words) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--" || !word.starts_with('-')) return i;
    if (word == "-o" || word == "--out" || word == "-e" || word == "--export") ++i;
  }
  return words.size();
}

/// The parsed command line.
struct CommandLine {
  CLI::App app{"Profiles MPI jobs: where time goes, which ranks delay the others, and why.",
               "megascope"};
  RunArguments run;
  InfoArguments info;
  ReportArguments report;
  ExportArguments exports;
  RecoverArguments recover;
  JoinArguments join;
  HangArguments hang;
  AnalyzeArguments analyze;
  DoctorArguments doctor;
  SynthArguments synth;
  ImportArguments import_arguments;
  std::string hang_format = "text";

  CommandLine() {
    app.set_version_flag("--version", std::string("megascope ") + kVersion);
    app.require_subcommand(1);
    app.footer(kExitCodes);
    app.failure_message([](const CLI::App*, const CLI::Error& error) {
      return "megascope: " + std::string(error.what()) + "; see megascope --help\n";
    });
    add_run();
    add_info();
    add_report();
    add_export();
    add_recover();
    add_join();
    add_hang();
    add_analyze();
    add_doctor();
    add_synth();
    add_import();
  }

  void add_run() {
    CLI::App* command = app.add_subcommand(
        "run", "Runs and records an MPI program, directly or through its launcher");
    command->add_option("COMMAND", run.command,
                        "Program or launcher, with its arguments; may follow `--`");
    command->add_option(
        "-o,--out", run.out,
        "Run directory to create; an existing one is not overwritten (MEGASCOPE_OUT)");
    command->add_option("-e,--export", run.exports,
                        "Formats to write in MPI_Finalize, e.g. otf2,perfetto (MEGASCOPE_EXPORT)");
    command->footer(
        "  megascope run -- mpirun -n 4 ./app      records the ranks, not the launcher\n"
        "  megascope run -- srun -n 4 ./app        the same with Slurm\n"
        "  mpirun -n 4 megascope run -- ./app      one `megascope run` per rank\n\n"
        "MEGASCOPE_* variables are passed to the ranks (see megascope info). The exit code is\n"
        "that of the command, or 2 if it could not be started.");
  }

  void add_info() {
    CLI::App* command = app.add_subcommand(
        "info",
        "Shows the version, export formats, options and recorded MPI functions, or what a "
        "trace file contains");
    command->add_option("TRACE", info.trace, "A trace file, such as run/rank-0.mgt");
    CLI::Option* json = command->add_flag("--json", info.as_json, "Print JSON");
    command
        ->add_flag("--options-markdown", info.as_options_markdown,
                   "Print the options as a Markdown page")
        ->excludes(json);
    command
        ->add_flag("--functions", info.as_functions,
                   "List all MPI functions with their group and recorded data")
        ->excludes(json);
  }

  void add_report() {
    CLI::App* command = app.add_subcommand("report", "Prints the report of a run from its traces");
    command->add_option("DIR", report.directory, "Run directory")->required();
    command->add_flag("--json", report.as_json, "Print JSON (docs/report.md)");
    command->add_option("-j,--jobs", report.jobs, "Number of processes (default: one per core)")
        ->check(CLI::Range(1, 1024));
  }

  void add_export() {
    CLI::App* command = app.add_subcommand("export", "Exports a run to another format");
    command->add_option("DIR", exports.directory, "Run directory")->required();
    command
        ->add_option("-f,--format", exports.formats,
                     "otf2, perfetto, chrome or megascan; a comma-separated list")
        ->required()
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(export_formats()));
    command->add_option("-o,--out", exports.out,
                        "Output directory (default: the run directory); nothing is overwritten");
    command->add_option("-j,--jobs", exports.jobs, "Number of processes (default: one per core)")
        ->check(CLI::Range(1, 1024));
    command->add_option("--parallel", exports.parallel,
                        "Sizes of the parallel groups, if the run has no annotated groups: "
                        "tp=4,pp=4,dp=4,order=tp-dp-pp (megascan)");
    command->add_flag("--no-findings", exports.leaves_out_findings,
                      "Export recorded data only, without waits and findings "
                      "(perfetto, chrome)");
  }

  void add_recover() {
    CLI::App* command = app.add_subcommand(
        "recover", "Recovers the traces that a killed run left on this node");
    CLI::Option* directory = command->add_option("DIR", recover.directory, "Run directory");
    CLI::Option* here = command->add_flag(
        "--here", recover.is_for_all,
        "Recover all runs of this user, each trace into its run directory");
    command
        ->add_option("--scratch", recover.scratches,
                     "Scratch directories to search (default: MEGASCOPE_SCRATCH, TMPDIR, /tmp, "
                     "/var/tmp, /dev/shm)")
        ->delimiter(',')
        ->allow_extra_args(false);
    directory->excludes(here);
    command->add_flag("-q,--quiet", recover.is_quiet, "Print recovered traces and errors only");
    command->footer(
        "Run it on every node of the run; it can be repeated. Under Slurm, use collect.sh.");
  }

  void add_join() {
    CLI::App* command = app.add_subcommand(
        "join", "Combines separately recorded traces of one job into one run directory");
    command
        ->add_option(
            "FRAGMENT", join.fragments,
            "Run directories, directories of a run in scratch storage, or traces (rank-3.mgt)")
        ->required();
    command
        ->add_option("-o,--out", join.out,
                     "Run directory to create; an existing one is not overwritten")
        ->required();
    command->footer(
        "For jobs in which some ranks had no library, so that each other rank wrote a trace of "
        "its\n"
        "own, and for hosts without a common directory. The fragments are copied, not changed.");
  }

  void add_hang() {
    CLI::App* command = app.add_subcommand(
        "hang", "Shows which ranks wait for which in a hanging, killed or running job");
    command->add_option("DIR", hang.directory, "Run directory")->required();
    command->add_option("--format", hang_format, "text or json (docs/hang.md)")
        ->check(CLI::IsMember({"text", "json"}));
    command->add_option("-j,--jobs", hang.jobs, "Number of threads (default: one per core)")
        ->check(CLI::Range(1, 1024));
    command->footer(
        "Shows for each rank and thread the current call, since when, the communicator and the "
        "peer;\n"
        "deadlocks; ranks that others wait for and that do something else; collectives that do\n"
        "not match. The current state of a running job is read without disturbing it.\n"
        "Exit code: 1 a problem stops the run, 0 none does, 2 no readable trace.");
  }

  void add_analyze() {
    CLI::App* command = app.add_subcommand(
        "analyze", "Reports which ranks delay the others, where, and for how long");
    command->add_option("DIR", analyze.directory, "Run directory")->required();
    command->add_flag("--json", analyze.as_json, "Print JSON (docs/analysis.md)");
    command->add_option("-j,--jobs", analyze.jobs, "Number of threads (default: one per core)")
        ->check(CLI::Range(1, 1024));
    command->footer(
        "Prints the verdict first, then tables: waits by rank, kinds of waits, the critical path,\n"
        "matching, and what could not be judged.\n"
        "Exit code: 1 something was found, 0 nothing was found, 2 no readable trace.");
  }

  void add_doctor() {
    CLI::App* command = app.add_subcommand(
        "doctor", "Checks this machine, job and program for problems, and suggests remedies");
    command->add_option("COMMAND", doctor.command,
                        "Program or launcher command to examine; it is not run; may follow `--`");
    command->add_flag("--json", doctor.as_json, "Print JSON");
    command->footer(
        "  megascope doctor                            checks the machine\n"
        "  megascope doctor -- mpirun -n 4 ./app       also checks the command\n"
        "  srun -n 1 megascope doctor -- ./app         checks a node of a job\n\n"
        "Exit code: 0 no problem, 1 a problem, 2 invalid usage.");
  }

  void add_import() {
    CLI::App* command = app.add_subcommand(
        "import", "Converts another tool's timeline of a training job into a run directory");
    CLI::Option* table = command->add_flag("--print-operations", import_arguments.is_for_table,
                                           "Print the built-in table of operations");
    command
        ->add_option(
            "--from", import_arguments.from,
            "chrome (a file), megascan (a directory) or pytorch (a directory, or files, one "
            "per rank); default: detected from the source")
        ->check(CLI::IsMember({"chrome", "megascan", "pytorch"}));
    command
        ->add_option("SOURCE", import_arguments.sources,
                     "File, directory or files; each may be compressed (.gz)")
        ->excludes(table);
    command->add_option(
        "--parallel", import_arguments.parallel,
        "Sizes of the parallel groups: tp=4,pp=4,dp=4,order=tp-dp-pp (order: fastest first)");
    command->add_option("--operations", import_arguments.operations,
                        "Table of operations to use instead of the built-in one");
    command
        ->add_option("-o,--out", import_arguments.out,
                     "Run directory to create; an existing one is not overwritten")
        ->excludes(table);
    command->add_flag("--strict", import_arguments.is_strict,
                      "Refuse a timeline that contains an event in need of repair");
    command->final_callback([this] {
      if (import_arguments.is_for_table) return;
      if (import_arguments.sources.empty()) throw CLI::RequiredError("SOURCE");
      if (import_arguments.out.empty()) throw CLI::RequiredError("--out");
    });
  }

  void add_synth() {
    CLI::App* command = app.add_subcommand("synth",
                                           "Writes a synthetic run for tests of the analysis");
    command
        ->add_option("-o,--out", synth.out,
                     "Run directory to create; an existing one is not overwritten")
        ->required();
    command->add_option("--truth", synth.truth, "JSON file to write, with the faults of the run");
    command->add_option("--pattern", synth.pattern, "1f1b, interleaved or halo")
        ->check(CLI::IsMember({"1f1b", "interleaved", "halo"}));
    command->add_option("--tp", synth.tp, "Tensor parallel ranks");
    command->add_option("--pp", synth.pp, "Pipeline stages");
    command->add_option("--dp", synth.dp, "Data parallel replicas");
    command->add_option("--grid-x", synth.grid_x, "Ranks along x (halo)");
    command->add_option("--grid-y", synth.grid_y, "Ranks along y (halo)");
    command->add_option("--steps", synth.steps, "Steps");
    command->add_option("--micro-batches", synth.micro_batches, "Micro-batches per step");
    command->add_option("--layers", synth.layers, "Layers per stage");
    command->add_option("--ranks-per-host", synth.ranks_per_host, "Ranks per host");
    command
        ->add_option("--noise", synth.noise,
                     "Noise of the duration of each computation and transfer; 0.02 is 2 %")
        ->check(CLI::Range(0.0, 1.0));
    command
        ->add_option("--pareto", synth.pareto,
                     "Fraction of computations with a long-tailed duration")
        ->check(CLI::Range(0.0, 1.0));
    command->add_option("--pauses", synth.pauses, "Fraction of a rank's steps that contain a pause")
        ->check(CLI::Range(0.0, 1.0));
    command->add_option("--clock-offset", synth.clock_offset_ns,
                        "Largest clock offset of a host, in ns");
    command->add_option("--clock-drift", synth.clock_drift_ppm,
                        "Largest clock drift of a host, in ppm");
    command->add_option("--fault", synth.faults, "A fault of the run; can be repeated");
    command->add_option("--seed", synth.seed, "Random seed; the same seed gives the same bytes");
    command->footer(
        "  --fault slow_compute@5,x=0.1,from=10            rank 5 is 10 % slower from step 10 on\n"
        "  --fault slow_host@1,x=0.2,from=3,to=12          the ranks of host 1 are 20 % slower in "
        "steps 3 to 12\n"
        "  --fault slow_link@2-3,x=9,every=1/3             transfers between 2 and 3 take 10 times "
        "as long, every third step\n"
        "  --fault host_stall@4,x=0.1                      rank 4 pauses for a tenth of a "
        "step's work\n"
        "  --fault stage_imbalance@1,x=0.15                pipeline stage 1 has 15 % more work\n"
        "  --fault input_imbalance@0,x=0.1                 the work of replica 0 varies");
  }

  int dispatch() {
    if (app.got_subcommand("synth")) return make_synthetic_run(synth);
    if (app.got_subcommand("import")) return import_run(import_arguments);
    if (app.got_subcommand("doctor")) return examine_machine(doctor);
    if (app.got_subcommand("run")) return run_command(run);
    if (app.got_subcommand("info")) {
      return info.trace.empty() ? show_info(info) : show_trace(info.trace, info.as_json);
    }
    if (app.got_subcommand("report")) return print_report(report);
    if (app.got_subcommand("export")) return export_run(exports);
    if (app.got_subcommand("hang")) {
      hang.as_json = hang_format == "json";
      return show_hang(hang);
    }
    if (app.got_subcommand("analyze")) return analyze_run(analyze);
    if (app.got_subcommand("join")) return join_fragments(join);
    return recover_traces(recover);
  }
};

/// A word that is no command of ours; empty when there is none.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() < 2 || words[1].starts_with('-')) return {};
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == words[1]) return {};
    names.push_back(command->get_name());
  }
  const std::string_view nearest = nearest_name(words[1], names);
  return "there is no command " + words[1] +
         (nearest.empty() ? "" : "; did you mean " + std::string(nearest));
}

/// Prints help or what is wrong with the command line, whose words may be names of files that
/// others chose (`megascope report *`).
int refuse(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream help;
  std::ostringstream sentence;
  const int code = app.exit(error, help, sentence);
  std::fputs(help.str().c_str(), stdout);
  std::string text = sentence.str();
  const std::string what = error.what();
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), printable(what));
  std::fputs(text.c_str(), stderr);
  return code == 0 ? kSuccess : kUnusable;
}

int run_main(std::vector<std::string> words) {
  CommandLine line;
  const std::string unknown = unknown_command(line.app, words);
  if (!unknown.empty()) {
    say(unknown + "; see megascope --help");
    return kUnusable;
  }
  const bool is_run = words.size() > 1 && words[1] == "run";
  const bool is_doctor = words.size() > 1 && words[1] == "doctor";
  if (is_run || is_doctor) {  // the command's own options are not ours to read
    const std::size_t start = command_start(words);
    const std::size_t first = start < words.size() && words[start] == "--" ? start + 1 : start;
    if (first < words.size())
      (is_run ? line.run.command : line.doctor.command)
          .assign(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
    words.resize(start);
  }
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend() - 1);  // what CLI11 takes
    line.app.parse(reversed);
    if (is_run && line.run.command.empty()) throw CLI::RequiredError("COMMAND");
    const bool is_recover = line.app.got_subcommand("recover");
    if (is_recover && line.recover.directory.empty() && !line.recover.is_for_all)
      throw CLI::RequiredError("DIR or --here");
  } catch (const CLI::ParseError& error) {
    return refuse(line.app, error);
  }
  // A file-size limit is then an error that is said. Not for `run`, from which the program would
  // inherit that.
  if (!is_run) std::signal(SIGXFSZ, SIG_IGN);
  return line.dispatch();
}

}  // namespace
}  // namespace megascope::cli

int main(int argc, char** argv) {
  megascope::trace::guard_mappings({.exit_code = megascope::cli::kUnusable});
  try {
    return megascope::cli::run_main(std::vector<std::string>(argv, argv + argc));
  } catch (const std::exception& error) {
    megascope::cli::say(error.what());
    return megascope::cli::kUnusable;
  }
}
