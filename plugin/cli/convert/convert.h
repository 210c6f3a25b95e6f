#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The commands that write traces or other files: export, recover, join, synth, import. Each
/// returns the exit code (exit_codes.h).
namespace megascope::cli {

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

struct SynthArguments {
  std::string out;
  /// File to which the injected faults (ground truth) are written; empty: they are not written. The
  /// analysis never reads this file.
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

}  // namespace megascope::cli
