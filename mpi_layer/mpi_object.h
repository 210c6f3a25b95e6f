#pragma once

namespace megascope::mpi {

/// dlopen handle of the loaded object that itself defines `symbol`; nullptr: none does. Walks all objects: a program may have
/// loaded MPI privately, where RTLD_NEXT does not look.
void* find_object_that_defines(const char* symbol) noexcept;

}  // namespace megascope::mpi
