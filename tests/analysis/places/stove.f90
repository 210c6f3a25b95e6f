! Calls whose places tests/analysis/places_test.py looks for.
module heat
contains
  subroutine solve(n)
    use mpi
    integer, intent(in) :: n
    integer :: ierr
    real(8) :: mine, total
    mine = n
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr) ! in heat::solve
    if (ierr /= 0) stop 1
  end subroutine
end module

subroutine outer(n)
  use mpi
  integer, intent(out) :: n
  call MPI_Barrier(MPI_COMM_WORLD, n) ! in outer
  if (n /= 0) stop 1
end subroutine

program stove
  use mpi
  use heat
  integer :: ierr, i, rank
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr) ! in stove
  do i = 1, 10
    call solve(i)
  end do
  call outer(i)
  call MPI_Finalize(ierr)
end program
