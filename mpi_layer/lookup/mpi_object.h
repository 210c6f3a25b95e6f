#pragma once

namespace megascope::mpi {

/// Returns a dlopen handle of the loaded object that defines `symbol` itself; nullptr if none does.
/// Visits all objects: the application may have loaded MPI privately, where RTLD_NEXT does not
/// search.
void* find_object_that_defines(const char* symbol) noexcept;
/// Returns whether a loaded object names this library (by SONAME) among those that it needs.
/// Objects loaded by dlopen only are not counted. Any thread; visits all loaded objects.
bool is_needed_by_an_object(const char* soname) noexcept;

}  // namespace megascope::mpi
