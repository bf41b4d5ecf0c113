! Nestable locks of Fortran: a variable of omp_nest_lock_kind has 8 bytes, and the bytes after it stay
! unchanged.
program nest_locks
  use omp_lib
  implicit none
  type guarded
    sequence
    integer(omp_nest_lock_kind) :: lock
    integer(8) :: behind
  end type
  type(guarded) :: pair(4)
  integer :: i, round, counters(4)

  pair(:)%behind = 77
  counters = 0
  do i = 1, 4
    call omp_init_nest_lock(pair(i)%lock)
  end do
  !$omp parallel private(i, round)
  do round = 1, 20
    do i = 1, 4
      call omp_set_nest_lock(pair(i)%lock)
      if (omp_test_nest_lock(pair(i)%lock) /= 2) error stop 1
      counters(i) = counters(i) + 1
      call omp_unset_nest_lock(pair(i)%lock)
      call omp_unset_nest_lock(pair(i)%lock)
    end do
  end do
  !$omp end parallel
  do i = 1, 4
    call omp_destroy_nest_lock(pair(i)%lock)
  end do
  if (any(pair(:)%behind /= 77)) error stop 2
  if (any(counters /= 20 * omp_get_max_threads())) error stop 3
end program
