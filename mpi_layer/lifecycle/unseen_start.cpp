#include "core/base/own_object.h"
#include "core/base/scarce_memory.h"
#include "core/config/environment.h"
#include "core/lifecycle/runtime.h"
#include "mpi_layer/lifecycle/lifecycle.h"
#include "mpi_layer/lifecycle/other_tool.h"
#include "mpi_layer/lookup/mpi_object.h"
#include "mpi_layer/lookup/pmpi.h"

#include <dlfcn.h>
#include <unistd.h>

/// Reports at exit that a program started MPI by a call that was not intercepted.
namespace megascope::mpi {
namespace {

const pid_t g_pid_at_load = getpid();

/// Returns whether there is an MPI library and it was started. Asks the library itself, because
/// entry points may not have been looked up.
bool is_mpi_started() noexcept {
  constexpr const char* kName = "PMPI_Initialized";
  void* symbol = dlsym(RTLD_DEFAULT, kName);
  if (symbol == nullptr) {
    if (void* object = find_object_that_defines(kName)) symbol = dlsym(object, kName);
  }
  if (symbol == nullptr) return false;
  int flag = 0;
  return reinterpret_cast<int (*)(int*)>(symbol)(&flag) == 0 && flag != 0;
}

void record_unseen_start() {
  if (has_seen_start() || getpid() != g_pid_at_load || !is_mpi_started() ||
      !is_loaded_with_program())
    return;
  if (!config::load_options(config::environment_entries()).values.enable) return;
  resolve_pmpi();
  std::string path;
  switch (find_other_tool(path)) {
    case OtherTool::kOursFirst:
      return;
    case OtherTool::kInFront:
      return runtime().complain(path +
                                " has an MPI_Init of its own in front of MegaScope's and passes no "
                                "call on to it: nothing was recorded");
    default:
      break;
  }
  runtime().complain(
      "MPI was started by a call that cannot be seen (mpi_f08 of MPICH, PMPI_Init, a function "
      "looked up in the MPI library itself): nothing was recorded");
}

[[gnu::destructor]] void record_unseen_start_at_exit() noexcept {
  without_throwing(&record_unseen_start, [] {});
}

}  // namespace
}  // namespace megascope::mpi
