! Units that the main program opened: sequential, direct and internal, used by regions and read back.
program units
  use omp_lib
  implicit none
  integer, parameter :: records = 240
  integer :: i, number, line_unit, record_unit
  integer(8) :: line_sum, record_sum
  character(len=32) :: text
  open(newunit=line_unit, status='scratch', action='readwrite', form='formatted')
  open(newunit=record_unit, status='scratch', access='direct', recl=8, form='unformatted')
  !$omp parallel do ordered schedule(static, 7) private(text)
  do i = 1, records
    write(text, '(i0)') i * i
    !$omp ordered
    write(line_unit, '(a)') trim(text)
    !$omp end ordered
    !$omp critical
    write(record_unit, rec=i) int(i * 3, 8)
    !$omp end critical
  end do
  !$omp end parallel do
  rewind(line_unit)
  line_sum = 0
  record_sum = 0
  do i = 1, records
    read(line_unit, *) number
    line_sum = line_sum + int(number, 8) * i
    block
      integer(8) :: kept
      read(record_unit, rec=i) kept
      record_sum = record_sum + kept * i
    end block
  end do
  print '(a,i0,a,i0)', 'lines ', line_sum, ', records ', record_sum
end program
