#pragma once

#include "mpi_layer/table/fn.h"

#include <cstdint>

/// Start and end of MPI, for all language interfaces; docs/architecture.md has the order. Called by
/// the application thread that calls MPI_Init and MPI_Finalize.
namespace megascope::mpi {

/// Returns the present time in ticks of the recording clock. Valid after before_init().
std::uint64_t now() noexcept;

/// Returns whether before_init() was called, so that the user was informed of problems.
bool has_seen_start() noexcept;
/// Call before MPI is started. Returns false if nothing will be recorded; after_init() must not be
/// called then.
bool before_init() noexcept;
/// Call after `fn`, entered at enter_ticks, has started MPI successfully.
void after_init(Interface interface, Fn fn, std::uint64_t enter_ticks) noexcept;
/// Call when MPI_Finalize is entered. Ends recording and the library's own communication.
void before_finalize(Interface interface) noexcept;
/// Call when MPI_Abort is entered.
void before_abort() noexcept;

}  // namespace megascope::mpi
