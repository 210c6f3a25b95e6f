#pragma once

#include "core/lifecycle/collective.h"

#include <mpi.h>

#include <cstdint>
#include <memory>

namespace megascope::mpi {

/// Makes a Collective of all ranks on a communicator of the library: split from MPI_COMM_WORLD (a
/// duplicate would run the application's attribute callbacks), with errors returned. nullptr if MPI
/// failed. Collective over MPI_COMM_WORLD.
std::unique_ptr<Collective> make_world_collective();

/// Returns the communicator of an object that make_world_collective() made.
MPI_Comm own_comm(const Collective& collective) noexcept;

/// Returns the number of messages that this process has sent on the library's own communicators.
std::uint64_t own_message_count() noexcept;

}  // namespace megascope::mpi
