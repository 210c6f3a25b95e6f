! Hooks as Fortran has them.
program told
  use megascope
  use, intrinsic :: iso_c_binding
  implicit none
  include 'mpif.h'
  integer :: ierror, step, rank
  integer(c_int32_t) :: forward, loss
  type(megascope_where) :: place

  forward = megascope_region_define("before MPI  ")
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  forward = megascope_region_define("forward")
  loss = megascope_counter_define("loss", "nats")
  if (megascope_group_set("dp", rank, 2) /= 0) stop 1
  do step = 0, 3
    call megascope_step_begin(step)
    place%layer = step
    call megascope_region_enter_at(forward, place)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call megascope_region_leave(forward)
    call megascope_counter_set(loss, real(step, c_double))
    call megascope_mark(megascope_region_define("moment"))
    call megascope_step_end()
  end do
  call megascope_step_begin(4_c_int64_t)
  call megascope_step_end()
  if (megascope_is_recording() /= 1) stop 2
  if (len(megascope_last_error()) /= 0) stop 3
  if (megascope_wants_tensor() /= 1 .or. megascope_wants_tensor("h.weight  ") /= 1 .or. megascope_wants_tensor("x") /= 0) stop 4
  if (megascope_group_set("a b", 0, 1) /= -1) stop 5
  if (index(megascope_last_error(), "group") == 0) stop 6
  call MPI_Finalize(ierror)
end program told
