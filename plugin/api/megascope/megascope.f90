!> The hook API for Fortran 2003 and later. Compile this file with the application and link libmegascope_hooks.a.
!> Each procedure behaves as the C function of the same name in megascope.h. Trailing blanks of character arguments are removed.
module megascope
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_int, c_int32_t, c_int64_t, c_loc, &
    c_null_char, c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: megascope_region_define, megascope_region_enter, megascope_region_leave, megascope_region_enter_at
  public :: megascope_step_begin, megascope_step_end, megascope_counter_define, megascope_counter_set, megascope_mark
  public :: megascope_group_set, megascope_groups_set, megascope_is_recording, megascope_save, megascope_where
  public :: megascope_wants_tensor, megascope_last_error

  integer(c_int32_t), parameter, public :: megascope_none = 0
  integer(c_int64_t), parameter, public :: megascope_nowhere = -1

  !> Position of a region: each member is 0 to 2147483647, or megascope_nowhere where it does not apply.
  type, bind(c) :: megascope_where
    integer(c_int64_t) :: micro_batch = -1
    integer(c_int64_t) :: chunk = -1
    integer(c_int64_t) :: layer = -1
  end type megascope_where

  interface
    function c_region_define(name) bind(c, name="megascope_region_define") result(region)
      import :: c_char, c_int32_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t) :: region
    end function c_region_define
    subroutine megascope_region_enter(region) bind(c, name="megascope_region_enter")
      import :: c_int32_t
      integer(c_int32_t), value :: region
    end subroutine megascope_region_enter
    subroutine megascope_region_leave(region) bind(c, name="megascope_region_leave")
      import :: c_int32_t
      integer(c_int32_t), value :: region
    end subroutine megascope_region_leave
    subroutine megascope_region_enter_at(region, where) bind(c, name="megascope_region_enter_at")
      import :: c_int32_t, megascope_where
      integer(c_int32_t), value :: region
      type(megascope_where), intent(in) :: where
    end subroutine megascope_region_enter_at
    subroutine c_step_begin(step) bind(c, name="megascope_step_begin")
      import :: c_int64_t
      integer(c_int64_t), value :: step
    end subroutine c_step_begin
    subroutine megascope_step_end() bind(c, name="megascope_step_end")
    end subroutine megascope_step_end
    function c_counter_define(name, unit) bind(c, name="megascope_counter_define") result(counter)
      import :: c_char, c_int32_t
      character(kind=c_char), intent(in) :: name(*), unit(*)
      integer(c_int32_t) :: counter
    end function c_counter_define
    subroutine megascope_counter_set(counter, value) bind(c, name="megascope_counter_set")
      import :: c_int32_t, c_double
      integer(c_int32_t), value :: counter
      real(c_double), value :: value
    end subroutine megascope_counter_set
    subroutine megascope_mark(name) bind(c, name="megascope_mark")
      import :: c_int32_t
      integer(c_int32_t), value :: name
    end subroutine megascope_mark
    function c_group_set(name, index, size) bind(c, name="megascope_group_set") result(status)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: index, size
      integer(c_int) :: status
    end function c_group_set
    function c_groups_set(layout) bind(c, name="megascope_groups_set") result(status)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: layout(*)
      integer(c_int) :: status
    end function c_groups_set
    function megascope_is_recording() bind(c, name="megascope_is_recording") result(answer)
      import :: c_int
      integer(c_int) :: answer
    end function megascope_is_recording
    function megascope_save() bind(c, name="megascope_save") result(status)
      import :: c_int
      integer(c_int) :: status
    end function megascope_save
    function c_wants_tensor(name) bind(c, name="megascope_wants_tensor") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: name
      integer(c_int) :: answer
    end function c_wants_tensor
    function c_last_error() bind(c, name="megascope_last_error") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function c_last_error
    pure function c_strlen(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), intent(in), value :: text
      integer(c_size_t) :: length
    end function c_strlen
  end interface

  !> Begins a step. step: integer(4) or integer(8).
  interface megascope_step_begin
    module procedure step_begin_short, step_begin_long
  end interface megascope_step_begin

contains

  function megascope_region_define(name) result(region)
    character(len=*), intent(in) :: name
    integer(c_int32_t) :: region
    region = c_region_define(trim(name)//c_null_char)
  end function megascope_region_define

  subroutine step_begin_short(step)
    integer(c_int32_t), intent(in) :: step
    call c_step_begin(int(step, c_int64_t))
  end subroutine step_begin_short

  subroutine step_begin_long(step)
    integer(c_int64_t), intent(in) :: step
    call c_step_begin(step)
  end subroutine step_begin_long

  function megascope_counter_define(name, unit) result(counter)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: unit
    integer(c_int32_t) :: counter
    if (present(unit)) then
      counter = c_counter_define(trim(name)//c_null_char, trim(unit)//c_null_char)
    else
      counter = c_counter_define(trim(name)//c_null_char, c_null_char)
    end if
  end function megascope_counter_define

  function megascope_group_set(name, index, size) result(status)
    character(len=*), intent(in) :: name
    integer(c_int), intent(in) :: index, size
    integer(c_int) :: status
    status = c_group_set(trim(name)//c_null_char, index, size)
  end function megascope_group_set

  function megascope_groups_set(layout) result(status)
    character(len=*), intent(in) :: layout
    integer(c_int) :: status
    status = c_groups_set(trim(layout)//c_null_char)
  end function megascope_groups_set

  !> Returns 1 if a tensor of this name would be recorded or read now, else 0. Without a name: if any tensor would be.
  function megascope_wants_tensor(name) result(answer)
    character(len=*), intent(in), optional :: name
    integer(c_int) :: answer
    character(len=:, kind=c_char), allocatable, target :: text
    if (present(name)) then
      text = trim(name)//c_null_char
      answer = c_wants_tensor(c_loc(text))
    else
      answer = c_wants_tensor(c_null_ptr)
    end if
  end function megascope_wants_tensor

  function megascope_last_error() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: address
    integer :: i, length
    address = c_last_error()
    length = int(c_strlen(address))
    call c_f_pointer(address, letters, [length])
    allocate (character(len=length) :: text)
    do i = 1, length
      text(i:i) = letters(i)
    end do
  end function megascope_last_error

end module megascope
