! A unit that main opened, written from a region; and lines in order on standard output.
program units
  implicit none
  integer :: i, n, status, value
  logical :: seen(100), stray
  character(len=*), parameter :: name = 'musubi_units.out'
  inquire (file='fort.10', exist=stray)
  if (stray) stop 2
  open (10, file=name, status='replace', action='readwrite')
  !$omp parallel do schedule(static, 1)
  do i = 1, 100
    !$omp critical
    write (10, *) i
    !$omp end critical
  end do
  rewind (10)
  seen = .false.
  n = 0
  do
    read (10, *, iostat=status) value
    if (status /= 0) exit
    n = n + 1
    if (seen(value)) stop 3
    seen(value) = .true.
  end do
  if (n /= 100) stop 1
  close (10, status='delete')
  inquire (file='fort.10', exist=stray)
  if (stray) stop 4
  !$omp parallel do ordered schedule(static, 1)
  do i = 1, 5
    !$omp ordered
    print '(a, i0)', 'line ', i
    !$omp end ordered
  end do
end program
