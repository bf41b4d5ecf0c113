! Internal procedures given as arguments: called through code on the caller's stack.
program internal_procedures
  use omp_lib
  implicit none
  integer :: offset, wrong, i
  integer :: results(64)
  offset = 100
  wrong = 0
  !$omp parallel
  results(omp_get_thread_num() + 1) = applied(shifted, omp_get_thread_num())
  !$omp end parallel
  do i = 1, omp_get_max_threads()
    if (results(i) /= 100 + i - 1) wrong = wrong + 1
  end do
  offset = 200
  !$omp parallel do reduction(+: wrong)
  do i = 1, 1000
    if (applied(shifted, i) /= 200 + i) wrong = wrong + 1
  end do
  if (wrong /= 0) stop 1
  print '(a)', 'internal procedures: passed'
contains
  integer function shifted(argument)
    integer, intent(in) :: argument
    shifted = argument + offset
  end function
  integer function applied(procedure, argument)
    interface
      integer function procedure(argument)
        integer, intent(in) :: argument
      end function
    end interface
    integer, intent(in) :: argument
    applied = procedure(argument)
  end function
end program
