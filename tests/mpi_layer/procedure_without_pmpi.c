/* The next definition of a Fortran procedure, of which there is no pmpi_barrier_. */
__attribute__((visibility("default"))) int g_barrier_count = 0;
__attribute__((visibility("default"))) void* g_barrier_arguments[2];

__attribute__((visibility("default"))) void mpi_barrier_(void* comm, void* error);
void mpi_barrier_(void* comm, void* error) {
  ++g_barrier_count;
  g_barrier_arguments[0] = comm;
  g_barrier_arguments[1] = error;
}
