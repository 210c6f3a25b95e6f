#include "mpi_layer/lifecycle/lifecycle.h"

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/lifecycle/control.h"
#include "mpi_layer/lookup/c_symbol.h"

/// The wrappers of MPI_Init, MPI_Finalize and similar functions.
namespace megascope::mpi {
namespace {

template <Fn F, class... Args>
int start_mpi(Args... args) {
  if (!before_init()) return pmpi<F>()(args...);
  const std::uint64_t enter_ticks = now();
  const int rc = pmpi<F>()(args...);
  if (rc == MPI_SUCCESS) after_init(Interface::kC, F, enter_ticks);
  return rc;
}

}  // namespace
}  // namespace megascope::mpi

using megascope::mpi::Fn;

extern "C" [[gnu::visibility("default")]] int MPI_Init(int* argc, char*** argv) {
  return megascope::mpi::start_mpi<Fn::Init>(argc, argv);
}

extern "C" [[gnu::visibility("default")]] int MPI_Init_thread(int* argc, char*** argv, int required,
                                                              int* provided) {
  return megascope::mpi::start_mpi<Fn::Init_thread>(argc, argv, required, provided);
}

extern "C" [[gnu::visibility("default")]] int MPI_Finalize() {
  megascope::mpi::before_finalize(megascope::mpi::Interface::kC);
  return megascope::mpi::pmpi<Fn::Finalize>()();
}

extern "C" [[gnu::visibility("default")]] int MPI_Pcontrol(const int level, ...) {
  megascope::mpi::before_pcontrol(level);
  const int rc = megascope::mpi::Wrapper<Fn::Pcontrol, int (*)(int)>::call(level);
  megascope::mpi::after_pcontrol(level);
  return rc;
}

MEGASCOPE_C_SYMBOL(Abort, (MPI_Comm comm, int errorcode)) {
  // The mark remains: the trace shows the call in which the process ended.
  megascope::mpi::before_abort();
  return megascope::mpi::Wrapper<Fn::Abort, decltype(&::MPI_Abort)>::call(comm, errorcode);
}
