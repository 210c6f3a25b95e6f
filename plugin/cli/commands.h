#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The commands `megascope <command>`. Each returns the exit code: 0 if the result is usable, 2 for
/// bad input or if there is no usable result. Missing data is reported on standard error and in the
/// result.
namespace megascope::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kFinding = 1;  ///< for commands that look for problems: a problem was found
inline constexpr int kUnusable = 2;

struct RunArguments {
  std::string out;      ///< MEGASCOPE_OUT; empty: unchanged
  std::string exports;  ///< MEGASCOPE_EXPORT; empty: unchanged
  std::vector<std::string> command;
};
/// Runs a program or a launcher with recording. Ends with the exit code or fatal signal of the
/// command.
int run_command(const RunArguments& arguments);

struct InfoArguments {
  bool as_json = false;
  bool as_options_markdown = false;
  bool as_functions = false;
};
/// Prints version, features and options of this build.
int show_info(const InfoArguments& arguments);

struct ReportArguments {
  std::string directory;
  bool as_json = false;
  int jobs = 0;  ///< number of processes; 0: one a core
};
/// Prints the report of a run.
int print_report(const ReportArguments& arguments);

struct ExportArguments {
  std::string directory;
  std::vector<std::string> formats;
  std::string out;  ///< empty: the run directory
  /// Sizes of the parallel groups, "tp=4,pp=4,dp=4,order=tp-dp-pp"; empty: as annotated in the run.
  std::string parallel;
  int jobs = 0;
  bool leaves_out_findings = false;
};
/// Converts a run to other formats.
int export_run(const ExportArguments& arguments);

struct RecoverArguments {
  std::string directory;               ///< empty if is_for_all
  bool is_for_all = false;             ///< all runs of this user with traces on this node
  bool is_quiet = false;               ///< prints only recovered runs and errors
  std::vector<std::string> scratches;  ///< scratch directories to search; empty: the default ones
};
/// Moves traces of ended runs from scratch storage to their run directories.
int recover_traces(const RecoverArguments& arguments);

struct JoinArguments {
  std::vector<std::string> fragments;
  std::string out;
};
/// Combines run directories and traces of one job into one run directory.
int join_fragments(const JoinArguments& arguments);

struct HangArguments {
  std::string directory;
  bool as_json = false;
  int jobs = 0;  ///< number of threads; 0: one a core
};
/// Prints which ranks wait for which. kFinding: the run is blocked. Changes no file.
int show_hang(const HangArguments& arguments);

struct AnalyzeArguments {
  std::string directory;
  bool as_json = false;
  int jobs = 0;  ///< number of threads; 0: one a core
};
/// Prints which ranks delayed others and why. kFinding: a root cause was found. Changes no file.
int analyze_run(const AnalyzeArguments& arguments);

struct SynthArguments {
  std::string out;
  /// File for the injected faults (ground truth); empty: none. The analysis never reads it.
  std::string truth;
  std::string pattern = "1f1b";
  int tp = 2;
  int pp = 2;
  int dp = 2;
  int grid_x = 4;
  int grid_y = 4;
  int steps = 20;
  int micro_batches = 8;
  int layers = 4;
  int ranks_per_host = 8;
  double noise = 0.02;
  double pareto = 0.0;
  double pauses = 0.0;
  double clock_offset_ns = 0.0;
  double clock_drift_ppm = 0.0;
  std::vector<std::string> faults;
  std::uint64_t seed = 1;
};
/// Writes a synthetic run (analysis/synth) as native traces.
int make_synthetic_run(const SynthArguments& arguments);

struct ImportArguments {
  std::string from;  ///< "chrome", "megascan" or "pytorch"; empty: detected from the source
  std::vector<std::string> sources;  ///< files, or one directory
  std::string parallel;              ///< "tp=4,pp=4,dp=4,order=tp-dp-pp"; empty: as in the file
  std::string operations;  ///< file with the table of operations; empty: the built-in table
  std::string out;
  bool is_strict = false;     ///< reject timelines that need repair
  bool is_for_table = false;  ///< only print the built-in table
};
/// Converts timelines of other tools to native traces in a new directory.
int import_run(const ImportArguments& arguments);

struct DoctorArguments {
  /// Program or launcher with arguments; empty: checks of the machine only.
  std::vector<std::string> command;
  bool as_json = false;
};
/// Prints what will not work on this machine and what to do. kFinding: there is a problem. Does not
/// start MPI and changes nothing.
int examine_machine(const DoctorArguments& arguments);

/// "2 of 8 ranks miss: 3 7"; empty if no rank is missing. ranks: the present ranks, ascending.
std::string missing_ranks_text(const std::vector<std::int32_t>& ranks, std::int32_t world_size);

/// `text` as one line that is safe for terminals and logs: control characters (ESC, C1, newlines),
/// bidirectional formatting characters and invalid UTF-8 become '?'. For file names and other
/// untrusted text.
std::string printable(const std::string& text);

/// Writes "megascope: <sentence>" to standard error, made printable().
void say(const std::string& sentence);

}  // namespace megascope::cli
