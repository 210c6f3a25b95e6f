#pragma once

#include "core/base/status.h"

#include <string>
#include <string_view>
#include <vector>

namespace megascope::cli {

/// Programs that start the ranks of a job. A launcher must pass LD_PRELOAD on to the ranks, but
/// must not itself be started with it.
enum class LauncherKind {
  kNone,     ///< not a launcher, but the program itself
  kOpenMpi,  ///< mpirun, mpiexec, orterun, prterun of Open MPI
  kHydra,    ///< mpirun, mpiexec of MPICH and derivatives
  kSrun,     ///< Slurm
  kMpi,      ///< mpirun or mpiexec of an MPI that only its --version output identifies
};

/// Detects a launcher by its name. resolved_path: absolute path with links resolved, or as typed if
/// not found.
LauncherKind launcher_kind(std::string_view typed, std::string_view resolved_path);
/// Detects the kind from the output of `--version`, for kMpi.
LauncherKind launcher_kind_by_version(std::string_view version_text);

/// What the ranks' environment must contain.
struct Preload {
  std::string library;                 ///< absolute path of libmegascope.so
  std::string existing;                ///< current LD_PRELOAD; loaded after the library
  std::vector<std::string> variables;  ///< names of the MEGASCOPE_* variables that are set
  std::string slurm_export;            ///< current SLURM_EXPORT_ENV
};

/// The value of LD_PRELOAD: "<library>:<existing>".
std::string preload_value(const Preload& preload);

/// Rewrites a launcher's command line so that the ranks, but not the launcher, get the preload and
/// the variables. Keeps the user's settings for LD_PRELOAD and exported variables. Returns an error
/// if the launcher has no way to pass them.
Status add_preload(LauncherKind kind, const Preload& preload, std::vector<std::string>& command);

}  // namespace megascope::cli
