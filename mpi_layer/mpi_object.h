#pragma once

namespace megascope::mpi {

/// dlopen handle of the loaded object that itself defines `symbol`; nullptr: none does. Walks all
/// objects: a program may have loaded MPI privately, where RTLD_NEXT does not look.
void* find_object_that_defines(const char* symbol) noexcept;
/// Does any loaded object name this library (by its SONAME) among those that it needs? What was
/// opened by dlopen alone is not. Any thread; a walk over all loaded objects.
bool is_needed_by_an_object(const char* soname) noexcept;

}  // namespace megascope::mpi
