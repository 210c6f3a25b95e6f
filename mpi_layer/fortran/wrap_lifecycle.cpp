#include "mpi_layer/fortran/intercept.h"
#include "mpi_layer/lifecycle/control.h"
#include "mpi_layer/lifecycle/lifecycle.h"

/// The Fortran procedures of MPI_Init, MPI_Finalize and similar, and the two functions.
namespace megascope::mpi::fortran {
namespace {

template <Interface I, Row R, Fn F, class... Slots>
void start_mpi(void* error, Slots... slots) {
  MPI_Fint own_error = MPI_SUCCESS;
  if (error == nullptr) error = &own_error;
  const bool is_prepared = before_init();
  resolve_pmpi(I);
  refresh_selection();
  const std::uint64_t enter_ticks = is_prepared ? now() : 0;
  pmpi<I, R, Slots..., void*>()(slots..., error);
  if (!is_prepared || *static_cast<const MPI_Fint*>(error) != MPI_SUCCESS) return;
  after_init(I, F, enter_ticks);
}

template <Interface I>
void finalize(void* error) {
  before_finalize(I);
  resolve_pmpi(I);
  pmpi<I, Row::finalize_, void*>()(error);
}

/// Procedures without ierror: only the time of the call is recorded.
template <Interface I, Row R, Fn F, class Result, class... Slots>
Result plain_call(Slots... slots) {
  if (pmpi<I, R>() == nullptr) resolve_pmpi(I);
  const auto procedure = reinterpret_cast<Result (*)(Slots...)>(
      g_pmpi[family_of(I)][static_cast<unsigned>(R)]);
  const std::uint8_t selected = g_selected[family_of(I)][static_cast<unsigned>(R)];
  const bool is_recorded = selected != 0 && recorder() != nullptr && enter_slow_path(I, selected);
  if (!is_recorded || t_thread->active_frame != 0) return procedure(slots...);
  MpiThread& thread = *t_thread;
  CallRecord call;
  call.fn = F;
  call.enter_ticks = clock::ticks(thread.use_tsc);
  if constexpr (std::is_void_v<Result>) {
    procedure(slots...);
    write_call(thread, call, clock::ticks(thread.use_tsc), MPI_SUCCESS);
  } else {
    const Result result = procedure(slots...);
    write_call(thread, call, clock::ticks(thread.use_tsc), MPI_SUCCESS);
    return result;
  }
}

template <Interface I>
void control(void* level) {
  const int number = *static_cast<const MPI_Fint*>(level);
  before_pcontrol(number);
  plain_call<I, Row::pcontrol_, Fn::Pcontrol, void>(level);
  after_pcontrol(number);
}

template <Interface I>
void abort_job(void* comm, void* code, void* error) {
  before_abort();
  Wrapper<Fn::Abort, Row::abort_, I, PmpiType<Fn::Abort>::Pointer>::call(comm, code, error);
}

}  // namespace
}  // namespace megascope::mpi::fortran

using megascope::mpi::Fn;
using megascope::mpi::Interface;
using megascope::mpi::fortran::Row;

#define MEGASCOPE_PROCEDURE(result, lower, upper, parameters, body)                          \
  extern "C" [[gnu::visibility("default")]] result megascope_f_##lower parameters __asm__(   \
      "mpi_" #lower "_");                                                                    \
  extern "C" result megascope_f_##lower parameters {                                         \
    constexpr Interface I = Interface::kFortran;                                             \
    return body;                                                                             \
  }                                                                                          \
  extern "C" [[gnu::visibility("default")]] result megascope_f08_##lower parameters __asm__( \
      "mpi_" #lower "_f08_");                                                                \
  extern "C" result megascope_f08_##lower parameters {                                       \
    constexpr Interface I = Interface::kFortran08;                                           \
    return body;                                                                             \
  }                                                                                          \
  MEGASCOPE_FORTRAN_ALIASES(result, lower, upper, parameters)

namespace fortran = megascope::mpi::fortran;
MEGASCOPE_PROCEDURE(void, init, INIT, (void* error),
                    (fortran::start_mpi<I, Row::init_, Fn::Init>(error)))
MEGASCOPE_PROCEDURE(void, init_thread, INIT_THREAD, (void* required, void* provided, void* error),
                    (fortran::start_mpi<I, Row::init_thread_, Fn::Init_thread>(error, required,
                                                                               provided)))
MEGASCOPE_PROCEDURE(void, finalize, FINALIZE, (void* error), (fortran::finalize<I>(error)))
MEGASCOPE_PROCEDURE(void, abort, ABORT, (void* comm, void* code, void* error),
                    (fortran::abort_job<I>(comm, code, error)))
MEGASCOPE_PROCEDURE(void, pcontrol, PCONTROL, (void* level), (fortran::control<I>(level)))
MEGASCOPE_PROCEDURE(double, wtime, WTIME, (),
                    (fortran::plain_call<I, Row::wtime_, Fn::Wtime, double>()))
MEGASCOPE_PROCEDURE(double, wtick, WTICK, (),
                    (fortran::plain_call<I, Row::wtick_, Fn::Wtick, double>()))
