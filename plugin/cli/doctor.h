#pragma once

#include "core/config/options.h"
#include "plugin/cli/launcher.h"

#include <functional>
#include <string>
#include <vector>

/// The checks of `megascope doctor`. Each looks at one thing, changes nothing, needs no rights and
/// may block: it runs in a process of its own, which is ended when it takes too long (`bounded`).
namespace megascope::cli {

enum class Verdict {
  kOk,
  kNote,     ///< works, but not as one may expect
  kProblem,  ///< nothing, or not everything, will be recorded
};

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string about;   ///< one word: what was looked at
  std::string text;    ///< what was found
  std::string remedy;  ///< what to do; of problems never empty
};
using Findings = std::vector<Finding>;

/// What is to be run.
struct Subject {
  std::vector<std::string> command;  ///< as typed; empty: nothing was given
  LauncherKind kind = LauncherKind::kNone;
  std::string program;  ///< absolute path; empty: none, or not found
};

/// The library and what it can write: can it be loaded and named in LD_PRELOAD?
Findings check_library();
Findings check_exports();
/// Bad or unknown MEGASCOPE_* variables, and recording that is switched off.
Findings check_options(const config::LoadedOptions& options);
/// The program: can a preload work on it?
Findings check_subject(const Subject& subject);
/// The MPI library that the program will get, else the one that the loader finds: is it the one
/// this was built for, and has it what Fortran needs?
Findings check_mpi(const Subject& subject);
/// The launcher given, else the one in PATH: is it of that MPI?
Findings check_launcher(const Subject& subject);
/// Does the launcher start more ranks than there are cores for them? Nothing where that is not
/// known.
Findings check_ranks(const Subject& subject);
/// Open MPI's launcher, which refuses to start for root unless it is told otherwise.
Findings check_root(const Subject& subject);
/// Other libraries in LD_PRELOAD that record MPI calls too, and those that are not loaded.
Findings check_preloads();
/// Folder for buffers: kind of file system and room.
Findings check_scratch(const config::Options& options);
/// Where the run folder will be: kind of file system; do other nodes see it?
Findings check_run_folder(const config::Options& options);
/// Which clock will be used.
Findings check_clock(const config::Options& options);
/// srun: its MPI plugins; what --export hands on.
Findings check_slurm(const Subject& subject);
Findings check_gpu();
/// Who may look into a running process from outside.
Findings check_ptrace();

/// What an --export list of Slurm does to our variables: values that were cut at a comma, options
/// that are not handed on. list: as typed or as in SLURM_EXPORT_ENV; set_names: MEGASCOPE_*
/// variables that are set. Pure.
Findings judge_export_list(const std::string& list, const std::vector<std::string>& set_names);

/// The same of a command line of srun, by its own --export. Pure.
Findings judge_srun(const std::vector<std::string>& command,
                    const std::vector<std::string>& set_names);

/// What `check` found; a note when it did not answer within `limit_ms` or died.
Findings bounded(const std::string& about, const std::function<Findings()>& check, int limit_ms);

}  // namespace megascope::cli
