/// \file
/// What the program will not do, said once.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace gpt {

/// Ends the program with its text on stderr and exit code 2. Thrown by all ranks or by none: main()
/// ends MPI in order.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Collective over the world. `problem`: what went wrong on this rank, empty if nothing did. Throws
/// the Refusal of the lowest rank that has a problem on all ranks, so that nobody is left waiting.
void refuse_together(const std::string& problem);

/// Collective over the world: that rank's text on every rank.
void broadcast(std::string& text, int root = 0);

}  // namespace gpt
