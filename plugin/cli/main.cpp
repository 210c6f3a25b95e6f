#include "core/base/text.h"
#include "core/base/version.h"
#include "core/trace/mapping_guard.h"
#include "plugin/cli/commands.h"
#include "plugin/cli/installation.h"

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
    "Exit codes: 0 the result is readable, 1 a finding where a command looks for one, 2 bad usage "
    "or input.";

/// Where the command to run begins: behind `--`, else at the first word that is no option of ours.
std::size_t command_start(const std::vector<std::string>& words) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--" || !word.starts_with('-')) return i;
    if (word == "-o" || word == "--out" || word == "-e" || word == "--export") ++i;
  }
  return words.size();
}

/// Everything that the user can say.
struct CommandLine {
  CLI::App app{"Shows what an MPI job is doing, without changing the program.", "megascope"};
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
        "run", "Runs an MPI program, or a launcher with it, and records it");
    command->add_option("COMMAND", run.command,
                        "Program or launcher, with its arguments; `--` may come first");
    command->add_option("-o,--out", run.out,
                        "Run folder to make; an existing one is not overwritten (MEGASCOPE_OUT)");
    command->add_option("-e,--export", run.exports,
                        "Formats to write at the end, as in otf2,perfetto (MEGASCOPE_EXPORT)");
    command->footer(
        "  megascope run -- mpirun -n 4 ./app      the ranks are recorded, the launcher is not\n"
        "  megascope run -- srun -n 4 ./app        the same under Slurm\n"
        "  mpirun -n 4 megascope run -- ./app      also possible\n\n"
        "MEGASCOPE_* variables reach the ranks (see megascope info). The exit code is the "
        "command's own;\n"
        "2 when it could not be started.");
  }

  void add_info() {
    CLI::App* command = app.add_subcommand(
        "info", "Shows version, formats, options, and the MPI functions recorded");
    CLI::Option* json = command->add_flag("--json", info.as_json, "For programs");
    command
        ->add_flag("--options-markdown", info.as_options_markdown,
                   "The options as a page of documentation")
        ->excludes(json);
    command
        ->add_flag("--functions", info.as_functions,
                   "Every MPI function: its group and how much is recorded of it")
        ->excludes(json);
  }

  void add_report() {
    CLI::App* command = app.add_subcommand("report", "Prints the report of a run from its traces");
    command->add_option("DIR", report.folder, "Run folder")->required();
    command->add_flag("--json", report.as_json, "For programs (docs/report.md)");
    command->add_option("-j,--jobs", report.jobs, "Processes to work with; one a core if not given")
        ->check(CLI::Range(1, 1024));
  }

  void add_export() {
    CLI::App* command = app.add_subcommand("export", "Writes a run in another format");
    command->add_option("DIR", exports.folder, "Run folder")->required();
    command
        ->add_option("-f,--format", exports.formats,
                     "otf2, perfetto, chrome or megascan; several with a comma between")
        ->required()
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(export_formats()));
    command->add_option(
        "-o,--out", exports.out,
        "Folder to write into, the run folder if not given; nothing is overwritten");
    command
        ->add_option("-j,--jobs", exports.jobs, "Processes to work with; one a core if not given")
        ->check(CLI::Range(1, 1024));
    command->add_option("--parallel", exports.parallel,
                        "Sizes of the parallel groups, where the run does not tell them: "
                        "tp=4,pp=4,dp=4,order=tp-dp-pp (megascan)");
    command->add_flag("--no-findings", exports.leaves_out_findings,
                      "Shows what was recorded and nothing else: not who waits for whom, nor who "
                      "is slow (perfetto, chrome)");
  }

  void add_recover() {
    CLI::App* command = app.add_subcommand(
        "recover", "Brings back the traces that a killed run left on this node");
    CLI::Option* folder = command->add_option("DIR", recover.folder, "Run folder");
    CLI::Option* here = command->add_flag(
        "--here", recover.is_for_all, "All runs of this user: each trace goes where it belongs");
    command
        ->add_option("--scratch", recover.scratches,
                     "Folders where runs kept their buffers; MEGASCOPE_SCRATCH, TMPDIR, /tmp, "
                     "/var/tmp, /dev/shm if not given")
        ->delimiter(',')
        ->allow_extra_args(false);
    folder->excludes(here);
    command->add_flag("-q,--quiet", recover.is_quiet,
                      "Says only what was brought in and what went wrong");
    command->footer(
        "Run it on every node of the run; it may be repeated. Under Slurm collect.sh does so.");
  }

  void add_join() {
    CLI::App* command = app.add_subcommand(
        "join", "Makes one run folder of pieces that ranks or hosts wrote on their own");
    command
        ->add_option("PIECE", join.pieces,
                     "Run folders, a run's folders in scratch storage, or traces (rank-3.mgt)")
        ->required();
    command
        ->add_option("-o,--out", join.out, "Run folder to make; an existing one is not overwritten")
        ->required();
    command->footer(
        "For a job some of whose ranks had no library, so that each other rank wrote alone, or "
        "whose\n"
        "hosts have no folder in common. The pieces are copied and stay as they are.");
  }

  void add_hang() {
    CLI::App* command = app.add_subcommand(
        "hang", "Shows who waits for whom in a run that hangs, died or goes on");
    command->add_option("DIR", hang.folder, "Run folder")->required();
    command->add_option("--format", hang_format, "text or json (docs/hang.md)")
        ->check(CLI::IsMember({"text", "json"}));
    command->add_option("-j,--jobs", hang.jobs, "Threads to work with; one a core if not given")
        ->check(CLI::Range(1, 1024));
    command->footer(
        "Which call each rank and thread is in, since when, on which communicator, for whom;\n"
        "circles of ranks that wait for each other; who is waited for and does something else;\n"
        "collectives that do not match. A running job is read as it is now, and not disturbed.\n"
        "Exit code: 1 when something stops the run, 0 when nothing does, 2 without a readable "
        "trace.");
  }

  void add_analyze() {
    CLI::App* command = app.add_subcommand(
        "analyze", "Says which rank makes the others wait, where, and for how long");
    command->add_option("DIR", analyze.folder, "Run folder")->required();
    command->add_flag("--json", analyze.as_json, "For programs (docs/analysis.md)");
    command->add_option("-j,--jobs", analyze.jobs, "Threads to work with; one a core if not given")
        ->check(CLI::Range(1, 1024));
    command->footer(
        "The answer comes first, then short tables: who waits for whom, kinds of waits, the "
        "critical\n"
        "path, what was matched, and what could not be judged.\n"
        "Exit code: 1 when something was found, 0 when not, 2 without a readable trace.");
  }

  void add_doctor() {
    CLI::App* command = app.add_subcommand(
        "doctor", "Says what will not work on this machine or in this job, and what to do");
    command->add_option(
        "COMMAND", doctor.command,
        "Program, or launcher with it, to look at; it is not run. `--` may come first");
    command->add_flag("--json", doctor.as_json, "For programs");
    command->footer(
        "  megascope doctor                            the machine\n"
        "  megascope doctor -- mpirun -n 4 ./app       and what would be run\n"
        "  srun -n 1 megascope doctor -- ./app         on a node of a job\n\n"
        "Exit code: 0 no problem, 1 some problem, 2 bad usage.");
  }

  void add_import() {
    CLI::App* command = app.add_subcommand(
        "import", "Makes a run folder of another tool's timeline of a training job");
    CLI::Option* table = command->add_flag("--print-operations", import_arguments.is_for_table,
                                           "Prints the table of known operations, to be changed");
    command
        ->add_option("--from", import_arguments.from,
                     "chrome (a file), megascan (a directory) or pytorch (a directory or files, "
                     "one a rank); by default what the source looks like")
        ->check(CLI::IsMember({"chrome", "megascan", "pytorch"}));
    command
        ->add_option("SOURCE", import_arguments.sources,
                     "The file, directory or files; each may be compressed (.gz)")
        ->excludes(table);
    command->add_option(
        "--parallel", import_arguments.parallel,
        "Sizes, and which changes fastest with the rank: tp=4,pp=4,dp=4,order=tp-dp-pp");
    command->add_option("--operations", import_arguments.operations,
                        "File that says what operations are, instead of the shipped table");
    command
        ->add_option("-o,--out", import_arguments.out,
                     "Run folder to make; an existing one is not overwritten")
        ->excludes(table);
    command->add_flag("--strict", import_arguments.is_strict,
                      "Refuses a timeline of which an event would have to be mended");
    command->final_callback([this] {
      if (import_arguments.is_for_table) return;
      if (import_arguments.sources.empty()) throw CLI::RequiredError("SOURCE");
      if (import_arguments.out.empty()) throw CLI::RequiredError("--out");
    });
  }

  void add_synth() {
    CLI::App* command = app.add_subcommand("synth",
                                           "Writes a run that is made up, to try the analysis on");
    command
        ->add_option("-o,--out", synth.out,
                     "Run folder to make; an existing one is not overwritten")
        ->required();
    command->add_option("--truth", synth.truth,
                        "File to write what is wrong in the run into, as JSON");
    command->add_option("--pattern", synth.pattern, "1f1b, interleaved or halo")
        ->check(CLI::IsMember({"1f1b", "interleaved", "halo"}));
    command->add_option("--tp", synth.tp, "Ranks of a tensor parallel group");
    command->add_option("--pp", synth.pp, "Pipeline stages");
    command->add_option("--dp", synth.dp, "Data parallel replicas");
    command->add_option("--grid-x", synth.grid_x, "Ranks along x (halo)");
    command->add_option("--grid-y", synth.grid_y, "Ranks along y (halo)");
    command->add_option("--steps", synth.steps, "Steps");
    command->add_option("--micro-batches", synth.micro_batches, "Micro-batches a step");
    command->add_option("--layers", synth.layers, "Layers of a stage");
    command->add_option("--ranks-per-host", synth.ranks_per_host, "Ranks of a host");
    command
        ->add_option("--noise", synth.noise, "Of each piece of work and each transfer: 0.02 is 2 %")
        ->check(CLI::Range(0.0, 1.0));
    command->add_option("--pareto", synth.pareto, "Share of pieces with a long tail")
        ->check(CLI::Range(0.0, 1.0));
    command->add_option("--pauses", synth.pauses, "Share of a rank's steps with a pause")
        ->check(CLI::Range(0.0, 1.0));
    command->add_option("--clock-offset", synth.clock_offset_ns,
                        "Hosts' clocks are off by up to so many ns");
    command->add_option("--clock-drift", synth.clock_drift_ppm,
                        "Hosts' clocks are fast or slow by up to so many ppm");
    command->add_option("--fault", synth.faults, "What is wrong; may be given several times");
    command->add_option("--seed", synth.seed,
                        "Another one makes another run; the same one the same bytes");
    command->footer(
        "  --fault slow_compute@5,x=0.1,from=10            rank 5 is 10 % slower from step 10 on\n"
        "  --fault slow_host@1,x=0.2,from=3,to=12          the ranks of host 1, for a while\n"
        "  --fault slow_link@2-3,x=9,every=1/3             transfers between 2 and 3 take 10 times "
        "as long, every third step\n"
        "  --fault host_stall@4,x=0.1                      rank 4 stops for a tenth of a step's "
        "work\n"
        "  --fault stage_imbalance@1,x=0.15                pipeline stage 1 has more to do\n"
        "  --fault input_imbalance@0,x=0.1                 replica 0 gets work that varies");
  }

  int dispatch() {
    if (app.got_subcommand("synth")) return make_synthetic_run(synth);
    if (app.got_subcommand("import")) return import_run(import_arguments);
    if (app.got_subcommand("doctor")) return examine_machine(doctor);
    if (app.got_subcommand("run")) return run_command(run);
    if (app.got_subcommand("info")) return show_info(info);
    if (app.got_subcommand("report")) return print_report(report);
    if (app.got_subcommand("export")) return export_run(exports);
    if (app.got_subcommand("hang")) {
      hang.as_json = hang_format == "json";
      return show_hang(hang);
    }
    if (app.got_subcommand("analyze")) return analyze_run(analyze);
    if (app.got_subcommand("join")) return join_pieces(join);
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
    if (is_recover && line.recover.folder.empty() && !line.recover.is_for_all)
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
