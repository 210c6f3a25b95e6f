#pragma once

#include "core/config/options.h"
#include "plugin/cli/launch/launcher.h"

#include <functional>
#include <string>
#include <vector>

/// The checks of `megascope doctor`. Each check examines one thing, changes nothing and needs no
/// privileges. A check may block, so it runs in a separate process with a timeout (`bounded`).
namespace megascope::cli {

enum class Verdict {
  kOk,
  kNote,     ///< works, with a restriction
  kProblem,  ///< recording will fail or be incomplete
};

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string about;   ///< one word: the subject of the check
  std::string text;    ///< what was found
  std::string remedy;  ///< what to do; never empty for problems
};
using Findings = std::vector<Finding>;

/// The command that is to be run.
struct Subject {
  std::vector<std::string> command;  ///< as typed; empty if no command was given
  LauncherKind kind = LauncherKind::kNone;
  std::string program;  ///< absolute path; empty if there is none or it was not found
};

/// Checks that the library can be loaded and named in LD_PRELOAD.
Findings check_library();
/// Checks the export modules.
Findings check_exports();
/// Checks MEGASCOPE_* variables: bad values, unknown names, recording disabled.
Findings check_options(const config::LoadedOptions& options);
/// Checks that LD_PRELOAD works for the program.
Findings check_subject(const Subject& subject);
/// Checks whether MegaScope was built for the MPI library that the program will load, and whether
/// this library has the Fortran procedures. If no program is given or it is not linked with MPI,
/// checks the loader's default MPI library instead.
Findings check_mpi(const Subject& subject);
/// Checks that the launcher belongs to the MPI library for which MegaScope was built. If no
/// launcher is given, checks mpirun or mpiexec in PATH.
Findings check_launcher(const Subject& subject);
/// Checks that the launcher does not start more ranks than there are cores. Returns no finding if
/// one of the two numbers is unknown.
Findings check_ranks(const Subject& subject);
/// Checks that Open MPI's launcher is not run as root, which it refuses by default.
Findings check_root(const Subject& subject);
/// Checks LD_PRELOAD for other MPI tools, and for libraries that were not loaded.
Findings check_preloads();
/// Checks the directory for buffers: kind of file system and free space.
Findings check_scratch(const config::Options& options);
/// Checks the location of the run directory: kind of file system, visibility on other nodes.
Findings check_run_directory(const config::Options& options);
/// Reports the clock that will be used.
Findings check_clock(const config::Options& options);
/// Checks srun: whether it is in PATH, its MPI plugins, SLURM_MPI_TYPE, and whether --export or
/// SLURM_EXPORT_ENV passes the MEGASCOPE_* variables on to the ranks.
Findings check_slurm(const Subject& subject);
/// Checks for a GPU.
Findings check_gpu();
/// Checks whether debuggers may attach to processes (ptrace).
Findings check_ptrace();

/// Checks a Slurm --export list: values truncated at a comma, options that are not passed on. list:
/// as typed, or from SLURM_EXPORT_ENV; set_names: MEGASCOPE_* variables that are set. Pure.
Findings judge_export_list(const std::string& list, const std::vector<std::string>& set_names);

/// Checks the list in the --export option of an srun command line in the same way. Pure.
Findings judge_srun(const std::vector<std::string>& command,
                    const std::vector<std::string>& set_names);

/// Runs `check` in a separate process. Returns its findings, or a note if it crashed or did not
/// finish within `limit_ms`.
Findings bounded(const std::string& about, const std::function<Findings()>& check, int limit_ms);

}  // namespace megascope::cli
