#pragma once

#include "core/base/status.h"

#include <string>
#include <string_view>
#include <vector>

namespace megascope::cli {

/// Programs that start the ranks of a job, and so must hand the preload on instead of loading it.
enum class LauncherKind {
  kNone,     ///< not a launcher: the program itself
  kOpenMpi,  ///< mpirun, mpiexec, orterun, prterun of Open MPI
  kHydra,    ///< mpirun, mpiexec of MPICH and its kin
  kSrun,     ///< Slurm
  kMpi,      ///< mpirun or mpiexec: its --version tells which
};

/// By the name of the program, its links resolved. path: absolute, or as typed where it was not
/// found.
LauncherKind launcher_kind(std::string_view typed, std::string_view resolved_path);
/// Which one kMpi is, by what `--version` prints.
LauncherKind launcher_kind_by_version(std::string_view version_text);

/// What is put into the environment of the ranks.
struct Preload {
  std::string library;                 ///< absolute path of libmegascope.so
  std::string existing;                ///< LD_PRELOAD as it is; loaded after ours
  std::vector<std::string> variables;  ///< names of the MEGASCOPE_* variables that are set
  std::string slurm_export;            ///< SLURM_EXPORT_ENV as it is
};

/// "ours:theirs".
std::string preload_value(const Preload& preload);

/// Rewrites a launcher's command line so that the ranks, and not the launcher, get the preload and
/// the variables. What the user says about LD_PRELOAD and about exported variables is kept. An
/// error when it cannot be said to the launcher.
Status add_preload(LauncherKind kind, const Preload& preload, std::vector<std::string>& command);

}  // namespace megascope::cli
