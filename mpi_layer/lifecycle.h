#pragma once

#include "mpi_layer/fn.h"

#include <cstdint>

/// What is done where MPI starts and ends, whatever the interface: docs/architecture.md has the
/// order. The application's thread that calls MPI_Init and MPI_Finalize.
namespace megascope::mpi {

/// Ticks of the clock that calls are recorded with. After before_init().
std::uint64_t now() noexcept;

/// Has before_init() been called? Then the user has heard of us.
bool has_seen_start() noexcept;
/// Before MPI is started. false: nothing will be recorded, and after_init() must not be called.
bool before_init() noexcept;
/// MPI has been started, successfully, by `fn`, entered at enter_ticks.
void after_init(Interface interface, Fn fn, std::uint64_t enter_ticks) noexcept;
/// MPI_Finalize has been entered: recording ends, what is our own is done.
void before_finalize(Interface interface) noexcept;
/// MPI_Abort has been entered.
void before_abort() noexcept;

}  // namespace megascope::mpi
