/// \file
/// Collective handling of user errors.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace gpt {

/// Ends the program with its text on standard error and exit code 2. Thrown on all ranks or on
/// none; main() then finalizes MPI.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws on all ranks the Refusal of the lowest rank with a problem. Collective over the world.
/// `problem`: the error on this rank; empty: none.
void refuse_together(const std::string& problem);

/// Broadcasts the text of rank `root`. Collective over the world.
void broadcast(std::string& text, int root = 0);

}  // namespace gpt
