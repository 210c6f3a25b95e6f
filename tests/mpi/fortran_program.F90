! A whole program through one of Fortran's interfaces: MPIFH, USEMPI or F08. Prints what it received; ends with code 3.
program ring
#if defined(F08)
  use mpi_f08
#elif defined(USEMPI)
  use mpi
#endif
  implicit none
#if defined(MPIFH)
  include 'mpif.h'
#endif
#if defined(F08)
  type(MPI_Status) :: state
#else
  integer :: state(MPI_STATUS_SIZE)
#endif
  integer :: rank, size, ierr, round, out(2), in(2), total(2)
  double precision :: begin
  call mpi_init(ierr)
  begin = mpi_wtime()
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
  out = [rank, 1]
  do round = 1, 10
    call mpi_sendrecv(out, 2, MPI_INTEGER, mod(rank + 1, size), round, in, 2, MPI_INTEGER, mod(rank + size - 1, size), &
                      round, MPI_COMM_WORLD, state, ierr)
    out = in + 1
  end do
  call mpi_pcontrol(2)
  call mpi_reduce(out, total, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a, 2i8, l2)', 'total', total, mpi_wtime() >= begin
  call mpi_finalize(ierr)
  stop 3
end program
