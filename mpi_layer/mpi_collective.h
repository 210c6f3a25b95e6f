#pragma once

#include "core/lifecycle/collective.h"

#include <mpi.h>

#include <cstdint>
#include <memory>

namespace megascope::mpi {

/// All ranks, on a communicator of our own: split from MPI_COMM_WORLD (a duplicate would run the
/// application's attribute callbacks), errors returned. nullptr when MPI would not make it.
/// Collective over MPI_COMM_WORLD.
std::unique_ptr<Collective> make_world_collective();

/// The communicator of one that make_world_collective() made.
MPI_Comm own_comm(const Collective& collective) noexcept;

/// Messages that this process has sent through our own communicators so far.
std::uint64_t own_message_count() noexcept;

}  // namespace megascope::mpi
