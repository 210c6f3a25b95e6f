! What fortran_test.cpp has its scenarios do, through one of Fortran's interfaces: MPIFH (mpif.h), USEMPI (use mpi) or F08.
#if defined(F08)
#define NAME(x) x/**/_f08
#define MODULES use mpi_f08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define DATATYPE type(MPI_Datatype)
#define FILEHANDLE type(MPI_File)
#define HANDLER type(MPI_Errhandler)
#define STATUS type(MPI_Status)
#define ONE_STATUS(s) s
#define STATUSES(s, n) s(n)
#define SOURCE_OF(s) s%MPI_SOURCE
#define FIRST_SOURCE(s) s(1)%MPI_SOURCE
#define IERR
#else
#if defined(USEMPI)
#define NAME(x) x/**/_usempi
#define MODULES use mpi
#else
#define NAME(x) x/**/_mpifh
#define MODULES
#define HEADER include 'mpif.h'
#endif
#define COMM integer
#define REQUEST integer
#define MESSAGE integer
#define DATATYPE integer
#define FILEHANDLE integer
#define HANDLER integer
#define STATUS integer
#define ONE_STATUS(s) s(MPI_STATUS_SIZE)
#define STATUSES(s, n) s(MPI_STATUS_SIZE, n)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define FIRST_SOURCE(s) s(MPI_SOURCE, 1)
#define IERR , ierr
#endif
#ifndef HEADER
#define HEADER
#endif

! Blocking, nonblocking, matched and persistent messages; ignored statuses; indices that begin at 1; texts with blanks.
subroutine NAME(messages)(rank, size) bind(C)
  use iso_c_binding
  MODULES
  implicit none
  HEADER
  integer(c_int), value :: rank, size
  integer :: next, before, ierr, index, done, indices(2), left, buffer(4), other(4), length
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: text
  COMM :: ring
  REQUEST :: requests(2), single
  MESSAGE :: taken
  STATUS :: ONE_STATUS(state), STATUSES(states, 2)
  next = mod(rank + 1, size)
  before = mod(rank + size - 1, size)
  buffer = rank
  ierr = 0
  call mpi_comm_dup(MPI_COMM_WORLD, ring IERR)
  call mpi_comm_set_name(ring, '  the ring   ' IERR)
  call mpi_comm_get_name(ring, text, length IERR)
  if (text(1:length) /= 'the ring') error stop 'the name'
  call mpi_irecv(other, 4, MPI_INTEGER, before, 7, ring, requests(1) IERR)
  call mpi_isend(buffer, 4, MPI_INTEGER, next, 7, ring, requests(2) IERR)
  call mpi_waitall(2, requests, MPI_STATUSES_IGNORE IERR)
  if (other(4) /= before) error stop 'waitall'
  call mpi_irecv(other, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, ring, requests(2) IERR)
  requests(1) = MPI_REQUEST_NULL
  call mpi_send(buffer, 3, MPI_INTEGER, next, 9, ring IERR)
  call mpi_waitany(2, requests, index, state IERR)
  if (index /= 2 .or. SOURCE_OF(state) /= before) error stop 'waitany'
  call mpi_sendrecv(buffer, 4, MPI_INTEGER, next, 1, other, 4, MPI_INTEGER, before, 1, ring, MPI_STATUS_IGNORE IERR)
  call mpi_irecv(other, 4, MPI_INTEGER, before, 11, ring, requests(1) IERR)
  call mpi_issend(buffer, 2, MPI_INTEGER, next, 11, ring, requests(2) IERR)
  call mpi_waitall(2, requests, states IERR)
  if (FIRST_SOURCE(states) /= before) error stop 'statuses'
  call mpi_iprobe(before, 99, ring, flag, MPI_STATUS_IGNORE IERR)
  if (flag) error stop 'iprobe'
  call mpi_isend(buffer, 1, MPI_INTEGER, next, 13, ring, single IERR)
  call mpi_probe(before, 13, ring, MPI_STATUS_IGNORE IERR)
  call mpi_mprobe(before, 13, ring, taken, MPI_STATUS_IGNORE IERR)
  call mpi_mrecv(other, 1, MPI_INTEGER, taken, MPI_STATUS_IGNORE IERR)
  call mpi_wait(single, MPI_STATUS_IGNORE IERR)
  call mpi_send_init(buffer, 1, MPI_DOUBLE_PRECISION, next, 15, ring, requests(1) IERR)
  call mpi_recv_init(other, 1, MPI_DOUBLE_PRECISION, before, 15, ring, requests(2) IERR)
  call mpi_startall(2, requests IERR)
  left = 2
  do while (left > 0)
    call mpi_waitsome(2, requests, done, indices, MPI_STATUSES_IGNORE IERR)
    left = left - done
  end do
  call mpi_request_free(requests(1) IERR)
  call mpi_request_free(requests(2) IERR)
  call mpi_comm_free(ring IERR)
end subroutine

! Collectives, in place and with a type for each rank; a grid; a file.
subroutine NAME(together)(rank, size) bind(C)
  use iso_c_binding
  MODULES
  implicit none
  HEADER
  integer(c_int), value :: rank, size
  integer :: ierr, values(4), counts(4), offsets(4), sent(4), received(4), dims(1), i
  integer(kind=MPI_OFFSET_KIND) :: place
  logical :: periods(1)
  COMM :: grid
  REQUEST :: single
  DATATYPE :: types(4)
  FILEHANDLE :: file
  STATUS :: ONE_STATUS(state)
  ierr = 0
  values = 1
  call mpi_allreduce(MPI_IN_PLACE, values, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
  if (values(4) /= size) error stop 'allreduce'
  call mpi_bcast(values, 2, MPI_INTEGER, size - 1, MPI_COMM_WORLD IERR)
  do i = 1, 4
    counts(i) = 1
    offsets(i) = 4 * (i - 1)
    types(i) = MPI_INTEGER
    sent(i) = 10 * rank + i
  end do
  call mpi_alltoallw(sent, counts, offsets, types, received, counts, offsets, types, MPI_COMM_WORLD IERR)
  if (received(1) /= rank + 1) error stop 'alltoallw'
  call mpi_iallreduce(sent, received, 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, single IERR)
  call mpi_wait(single, state IERR)
  dims = size
  periods = .true.
  call mpi_cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., grid IERR)
  call mpi_neighbor_allgather(sent, 1, MPI_INTEGER, received, 1, MPI_INTEGER, grid IERR)
  call mpi_comm_free(grid IERR)
  call mpi_file_open(MPI_COMM_WORLD, 'written ', MPI_MODE_RDWR + MPI_MODE_CREATE, MPI_INFO_NULL, file IERR)
  place = 16 * rank
  call mpi_file_write_at(file, place, sent, 4, MPI_INTEGER, MPI_STATUS_IGNORE IERR)
  call mpi_file_close(file IERR)
end subroutine

! A refused call: the error comes back in ierror.
subroutine NAME(mistakes)(rank, size) bind(C)
  use iso_c_binding
  MODULES
  implicit none
  HEADER
  integer(c_int), value :: rank, size
  integer :: ierr, buffer
  buffer = rank
  call mpi_comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call mpi_send(buffer, 1, MPI_INTEGER, size, 3, MPI_COMM_WORLD, ierr)
  if (ierr == MPI_SUCCESS) error stop 'a rank that is not there'
  call mpi_comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
end subroutine
