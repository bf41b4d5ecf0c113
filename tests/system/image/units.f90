! A unit that the initial thread has opened is the same unit in a region.
program units
  implicit none
  integer :: i, line, total, status
  character(len=200) :: path
  call get_command_argument(1, path)
  open (unit=10, file=trim(path), status='replace')
  write (10, *) 1000
!$omp parallel do
  do i = 1, 100
!$omp critical
    write (10, *) i
!$omp end critical
  end do
  close (10)
  open (unit=10, file=trim(path), status='old')
  total = 0
  do
    read (10, *, iostat=status) line
    if (status /= 0) exit
    total = total + line
  end do
  close (10, status='delete')
  if (total /= 6050) then
    print *, 'wrong total', total
    error stop 1
  end if
  print *, 'units: passed'
end program
