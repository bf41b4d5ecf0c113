! The hand-over of LU in Fortran, by atomic reads and writes: planes move through the threads as through a
! pipeline.
program atomic_pipeline
  use omp_lib
  implicit none
  integer, parameter :: planes = 40, row = 2000, threads_max = 64
  integer :: flags(16, 0:threads_max) = 0
  real(8) :: rows(row, 0:threads_max, 0:1) = 0
  integer :: plane, self, last, i, seen, wrong, now
  wrong = 0
  !$omp parallel private(plane, self, last, i, seen, now) reduction(+:wrong)
  self = omp_get_thread_num()
  last = omp_get_num_threads() - 1
  do plane = 1, planes
    if (self > 0) then
      do
        !$omp atomic read
        seen = flags(1, self - 1)
        if (seen /= 0) exit
      end do
    end if
    now = mod(plane, 2)
    do i = 1, row
      if (self == 0) then
        rows(i, self, now) = plane
      else
        rows(i, self, now) = rows(i, self - 1, now) + 1
      end if
      if (rows(i, self, now) /= plane + self) wrong = wrong + 1
    end do
    if (self > 0) then
      !$omp atomic write
      flags(1, self - 1) = 0
    end if
    if (self < last) then
      do
        !$omp atomic read
        seen = flags(1, self)
        if (seen == 0) exit
      end do
      !$omp atomic write
      flags(1, self) = 1
    end if
  end do
  !$omp end parallel
  if (wrong /= 0) then
    print *, wrong, ' numbers came late'
    stop 1
  end if
  print *, 'every plane came through'
end program
