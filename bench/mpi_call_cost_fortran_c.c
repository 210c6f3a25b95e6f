/* The calls of mpi_call_cost_fortran.F90 through C. */
#include <mpi.h>

static int rank, flag, in[2], out[2];
static double value = 1, total;

void c_comm_rank(void) { MPI_Comm_rank(MPI_COMM_WORLD, &rank); }
void c_iprobe(void) { MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); }
void c_sendrecv(void) {
  MPI_Sendrecv(out, 2, MPI_INT, 0, 1, in, 2, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
void c_exchange(void) {
  MPI_Request requests[2];
  MPI_Irecv(in, 2, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
  MPI_Isend(out, 2, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
void c_allreduce(void) { MPI_Allreduce(&value, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); }
