! The cases of mpi_call_cost.cpp that Fortran programs are made of: through mpif.h (or, with USE_F08, mpi_f08), and beside
! each, in turn, the same call through C, so that both are measured in one process. Prints lines as that program does.
program mpi_call_cost_fortran
#ifdef USE_F08
  use mpi_f08
#endif
  use iso_c_binding
  implicit none
#ifndef USE_F08
  include 'mpif.h'
#endif
  interface
    subroutine c_comm_rank() bind(c)
    end subroutine
    subroutine c_iprobe() bind(c)
    end subroutine
    subroutine c_sendrecv() bind(c)
    end subroutine
    subroutine c_exchange() bind(c)
    end subroutine
    subroutine c_allreduce() bind(c)
    end subroutine
  end interface
  abstract interface
    subroutine body()
    end subroutine
  end interface
  integer, parameter :: batch = 100
  integer :: calls, ierror, length
  integer :: rank
  logical :: flag
  integer :: out(2) = 0, in(2) = 0
  double precision :: value = 1, total = 0
  character(len=20) :: argument

  calls = 300000
  call get_command_argument(1, argument, length)
  if (length > 0) read (argument, *) calls
  call MPI_Init(ierror)
  call both('comm_rank', 1, f_comm_rank, c_comm_rank)
  call both('iprobe_self', 1, f_iprobe, c_iprobe)
  call both('sendrecv_self', 1, f_sendrecv, c_sendrecv)
  call both('isend_irecv_waitall_self', 3, f_exchange, c_exchange)
  call both('allreduce_self', 1, f_allreduce, c_allreduce)
  call MPI_Finalize(ierror)

contains

  subroutine f_comm_rank()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  end subroutine

  subroutine f_iprobe()
    call MPI_Iprobe(0, 7, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE, ierror)
  end subroutine

  subroutine f_sendrecv()
    call MPI_Sendrecv(out, 2, MPI_INTEGER, 0, 1, in, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierror)
  end subroutine

  subroutine f_exchange()
#ifdef USE_F08
    type(MPI_Request) :: requests(2)
#else
    integer :: requests(2)
#endif
    call MPI_Irecv(in, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(1), ierror)
    call MPI_Isend(out, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(2), ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  end subroutine

  subroutine f_allreduce()
    call MPI_Allreduce(value, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_SELF, ierror)
  end subroutine

  ! Batches of both in turn; of each the median.
  subroutine both(name, calls_per_body, fortran, c)
    character(len=*), intent(in) :: name
    integer, intent(in) :: calls_per_body
    procedure(body) :: fortran, c
    double precision, allocatable :: of_fortran(:), of_c(:)
    integer :: count, i
    count = max(1, calls / calls_per_body / batch)
    allocate (of_fortran(count), of_c(count))
    do i = 1, count
      of_fortran(i) = batch_ns(fortran) / calls_per_body
      of_c(i) = batch_ns(c) / calls_per_body
    end do
    write (*, '(A, 3(1X, F0.2))') name // '_fortran', median(of_fortran), minval(of_fortran), 0.0
    write (*, '(A, 3(1X, F0.2))') name // '_c', median(of_c), minval(of_c), 0.0
  end subroutine

  double precision function batch_ns(once)
    procedure(body) :: once
    integer(c_int64_t) :: begin, end
    integer :: i
    call system_clock(begin)
    do i = 1, batch
      call once()
    end do
    call system_clock(end)
    batch_ns = dble(end - begin) / batch
  end function

  ! The lower one of an even count.
  double precision function median(values)
    double precision, intent(in) :: values(:)
    double precision :: low, high, middle
    integer :: i
    low = minval(values)
    high = maxval(values)
    do i = 1, 60
      middle = (low + high) / 2
      if (2 * count(values <= middle) >= size(values)) then
        high = middle
      else
        low = middle
      end if
    end do
    median = high
  end function
end program
