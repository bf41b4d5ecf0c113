! One construct after the other, as each Fortran compiler translates it: see compiled_constructs.c.
program compiled_constructs
  use omp_lib
  implicit none
  integer, parameter :: count = 1000
  integer, save :: own = 7
  integer :: shared_own
  common /block/ shared_own
  !$omp threadprivate(own, /block/)
  integer :: i, j, members, mistakes, total, last, passes, order, value
  integer :: marks(count), cells
  real(8), allocatable :: numbers(:)
  real(8) :: sum
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest_lock

  members = 0
  !$omp parallel reduction(+:members)
  members = members + 1
  !$omp end parallel
  call check(members == omp_get_max_threads(), 1)

  allocate(numbers(count))
  !$omp parallel do
  do i = 1, count
    numbers(i) = i
  end do
  sum = 0
  !$omp parallel do reduction(+:sum) schedule(dynamic, 5)
  do i = 1, count
    sum = sum + numbers(i)
  end do
  call check(sum == 500500d0, 2)
  marks = 0
  !$omp parallel do schedule(guided)
  do i = count, 1, -2
    marks(i) = marks(i) + 1
  end do
  !$omp parallel do schedule(static, 3)
  do i = 1, count, 2
    marks(i) = marks(i) + 1
  end do
  call check(all(marks == 1), 3)
  cells = 0
  !$omp parallel do collapse(2) reduction(+:cells)
  do i = 1, 13
    do j = -2, 2
      cells = cells + 1
    end do
  end do
  call check(cells == 65, 4)
  last = 0
  !$omp parallel do lastprivate(last)
  do i = 1, 77
    last = i
  end do
  call check(last == 77, 5)
  order = 0
  mistakes = 0
  !$omp parallel do ordered schedule(dynamic)
  do i = 1, 60
    !$omp ordered
    order = order + 1
    if (order /= i) mistakes = mistakes + 1
    !$omp end ordered
  end do
  call check(mistakes == 0, 6)
  total = 0
  !$omp parallel do reduction(+:total)
  do i = 5, -5
    total = total + 1
  end do
  call check(total == 0, 7)

  own = 3
  shared_own = 4
  mistakes = 0
  !$omp parallel copyin(own, /block/) reduction(+:mistakes)
  if (own /= 3 .or. shared_own /= 4) mistakes = mistakes + 1
  own = omp_get_thread_num()
  shared_own = 2 * own
  !$omp end parallel
  !$omp parallel reduction(+:mistakes)
  if (own /= omp_get_thread_num() .or. shared_own /= 2 * own) mistakes = mistakes + 1
  !$omp end parallel
  call check(mistakes == 0, 8)

  total = 0
  passes = 0
  value = 0
  !$omp parallel firstprivate(value) reduction(+:mistakes)
  !$omp critical
  total = total + 1
  !$omp end critical
  !$omp critical (other)
  passes = passes + 1
  !$omp end critical (other)
  !$omp barrier
  if (total /= members) mistakes = mistakes + 1
  !$omp barrier
  !$omp single
  total = total + 1000
  value = 42
  !$omp end single copyprivate(value)
  if (value /= 42) mistakes = mistakes + 1
  !$omp atomic
  passes = passes + 1
  !$omp master
  total = total + 1
  !$omp end master
  !$omp end parallel
  call check(mistakes == 0 .and. total == 1001 + members .and. passes == 2 * members, 9)

  total = 0
  !$omp parallel sections reduction(+:total)
  !$omp section
  total = total + 1
  !$omp section
  total = total + 10
  !$omp section
  total = total + 100
  !$omp end parallel sections
  call check(total == 111, 10)

  total = 0
  !$omp parallel
  !$omp single
  do j = 1, 20
    !$omp task shared(total)
    !$omp atomic
    total = total + 1
    !$omp end task
  end do
  !$omp taskwait
  if (total /= 20) mistakes = mistakes + 1
  !$omp taskgroup
  !$omp task shared(total)
  !$omp atomic
  total = total + 1
  !$omp end task
  !$omp end taskgroup
  if (total /= 21) mistakes = mistakes + 1
  !$omp end single
  !$omp end parallel
  call check(mistakes == 0, 11)

  call omp_init_lock(lock)
  call omp_init_nest_lock(nest_lock)
  total = 0
  !$omp parallel
  call omp_set_lock(lock)
  total = total + 1
  call omp_unset_lock(lock)
  !$omp barrier
  call omp_set_nest_lock(nest_lock)
  call omp_set_nest_lock(nest_lock)
  total = total + 1
  call omp_unset_nest_lock(nest_lock)
  call omp_unset_nest_lock(nest_lock)
  !$omp end parallel
  call check(total == 2 * members, 12)
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest_lock)

  total = 0
  !$omp parallel
  !$omp workshare
  numbers = numbers * 2
  !$omp end workshare
  !$omp end parallel
  call check(numbers(count) == 2d0 * count, 13)
  print *, 'verified'
contains
  subroutine check(holds, number)
    logical, intent(in) :: holds
    integer, intent(in) :: number
    if (.not. holds) then
      print *, 'not true: check', number
      stop 1
    end if
  end subroutine
end program
