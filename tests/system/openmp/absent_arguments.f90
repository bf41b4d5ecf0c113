! Target regions with dummy arguments that the caller left out: the compiler passes a null address for them.
module arguments
  implicit none
  integer :: failures = 0
contains
  subroutine expect(is_so, what)
    logical, intent(in) :: is_so
    character(*), intent(in) :: what
    if (.not. is_so) then
      print '(2a)', 'wrong: ', what
      failures = failures + 1
    end if
  end subroutine

  subroutine take(values, is_given)
    integer, optional, pointer :: values(:)
    logical, intent(in) :: is_given
    logical :: seen
    seen = .not. is_given
    !$omp target has_device_addr(values) map(tofrom: seen)
    seen = present(values)
    if (present(values)) values = values + 1
    !$omp end target
    call expect(seen .eqv. is_given, 'whether a pointer is there')
  end subroutine

  subroutine take_allocated(values, is_given)
    integer, optional, allocatable :: values(:)
    logical, intent(in) :: is_given
    logical :: seen
    seen = .not. is_given
    !$omp target has_device_addr(values) map(tofrom: seen)
    seen = present(values)
    if (present(values)) values = values + 1
    !$omp end target
    call expect(seen .eqv. is_given, 'whether an allocatable is there')
  end subroutine
end module

program absent_arguments
  use arguments
  implicit none
  integer, pointer :: values(:)
  integer, allocatable :: allocated_values(:)
  allocate (values(4), allocated_values(4))
  values = 1
  allocated_values = 5
  call take(is_given=.false.)
  call take(values, .true.)
  call take_allocated(is_given=.false.)
  call take_allocated(allocated_values, .true.)
  call expect(all(values == 2) .and. all(allocated_values == 6), 'what the regions wrote')
  if (failures /= 0) error stop 1
  print '(a)', 'VERIFICATION SUCCESSFUL'
end program
