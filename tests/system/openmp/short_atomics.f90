! Atomics of four bytes, which leave no room for a jump; and the Fortran library, which takes SIGTRAP at the
! start of the program.
program short_atomics
  use omp_lib
  implicit none
  integer :: i, total, largest, ordered_sum
  real :: length
  total = 0; largest = 0; ordered_sum = 0; length = 0
  !$omp parallel do reduction(+:ordered_sum)
  do i = 1, 1000
     ordered_sum = ordered_sum + i
  end do
  !$omp parallel do
  do i = 1, 1000
     !$omp atomic
     total = total + 1
     !$omp atomic
     length = length + 0.5
     !$omp atomic
     largest = max(largest, i)
  end do
  if (ordered_sum /= 500500 .or. total /= 1000 .or. length /= 500.0 .or. largest /= 1000) error stop 1
end program short_atomics
