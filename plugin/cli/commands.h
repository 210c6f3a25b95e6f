#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What `megascope <command>` does. Each returns the exit code: 0 the result is readable, 2 bad
/// input or nothing readable; what is missing is said on stderr and in the result.
namespace megascope::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kFinding = 1;  ///< of commands that look for something
inline constexpr int kUnusable = 2;

struct RunArguments {
  std::string out;      ///< MEGASCOPE_OUT; empty: as it is
  std::string exports;  ///< MEGASCOPE_EXPORT; empty: as it is
  std::vector<std::string> command;
};
/// Runs a program or a launcher; the exit code, or the fatal signal, is the command's own.
int run_command(const RunArguments& arguments);

struct InfoArguments {
  bool as_json = false;
  bool as_options_markdown = false;
  bool as_functions = false;
};
int show_info(const InfoArguments& arguments);

struct ReportArguments {
  std::string folder;
  bool as_json = false;
  int jobs = 0;  ///< processes; 0: one a core
};
int print_report(const ReportArguments& arguments);

struct ExportArguments {
  std::string folder;
  std::vector<std::string> formats;
  std::string out;       ///< empty: the run folder
  std::string parallel;  ///< sizes of the parallel groups, "tp=4,pp=4,dp=4,order=tp-dp-pp"; empty:
                         ///< as the run tells
  int jobs = 0;
  bool leaves_out_findings = false;
};
int export_run(const ExportArguments& arguments);

struct RecoverArguments {
  std::string folder;                  ///< empty with is_for_all
  bool is_for_all = false;             ///< every run of this user that left something on this node
  bool is_quiet = false;               ///< says only what was brought in and what went wrong
  std::vector<std::string> scratches;  ///< where they may have; empty: the usual places
};
int recover_traces(const RecoverArguments& arguments);

struct JoinArguments {
  std::vector<std::string> pieces;
  std::string out;
};
/// One run folder of pieces of one job.
int join_pieces(const JoinArguments& arguments);

struct HangArguments {
  std::string folder;
  bool as_json = false;
  int jobs = 0;  ///< threads; 0: one a core
};
/// Who waits for whom; kFinding when something stops the run. Changes no file.
int show_hang(const HangArguments& arguments);

struct AnalyzeArguments {
  std::string folder;
  bool as_json = false;
  int jobs = 0;  ///< threads; 0: one a core
};
/// Who made whom wait; kFinding when something was found. Changes no file.
int analyze_run(const AnalyzeArguments& arguments);

struct SynthArguments {
  std::string out;
  std::string
      truth;  ///< file for what is wrong in the run; empty: none. Never read by the analysis
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
/// Writes a run that is made up (analysis/synth) as native traces.
int make_synthetic_run(const SynthArguments& arguments);

struct ImportArguments {
  std::string from;  ///< "chrome", "megascan" or "pytorch"; empty: by what the source looks like
  std::vector<std::string> sources;  ///< files, or a directory
  std::string parallel;              ///< "tp=4,pp=4,dp=4,order=tp-dp-pp"; empty: as the file shows
  std::string operations;  ///< file that says what operations are; empty: the shipped table
  std::string out;
  bool is_strict = false;     ///< nothing is mended
  bool is_for_table = false;  ///< only prints the shipped table
};
/// Writes timelines of other tools as native traces into a new folder.
int import_run(const ImportArguments& arguments);

struct DoctorArguments {
  std::vector<std::string>
      command;  ///< program or launcher, with its arguments; empty: the machine only
  bool as_json = false;
};
/// What will not work here, and what to do; kFinding when there is a problem. Starts no MPI and
/// changes nothing.
int examine_machine(const DoctorArguments& arguments);

/// "2 of 8 ranks miss: 3 7"; empty when none does. ranks: those that are there, ascending.
std::string missing_ranks_text(const std::vector<std::int32_t>& ranks, std::int32_t world_size);

/// `text` as one line that is safe to print on a terminal and in a log: control characters (ESC,
/// C1, line ends), characters that change the direction of text, and bytes that are not UTF-8
/// become '?'. For names of files and whatever else others chose.
std::string printable(const std::string& text);

/// "megascope: <sentence>" on stderr, printable.
void say(const std::string& sentence);

}  // namespace megascope::cli
