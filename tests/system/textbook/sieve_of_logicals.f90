! The sieve in Fortran, with logical(1); letters counted by integer(1); words of characters turned into capitals.
program sieve_of_logicals
  implicit none
  integer, parameter :: limit = 300000, words = 601
  logical(1), save :: composite(limit), expected(limit)
  integer(1), save :: counts(words)
  character(7), save :: names(words), capitals(words)
  integer :: i, k, wrong

  expected = .false.
  expected(1) = .true.
  do i = 2, 547
    do k = i*i, limit, i
      expected(k) = .true.
    end do
  end do
  composite = .false.
  composite(1) = .true.
  !$omp parallel do private(k) schedule(dynamic)
  do i = 2, 547
    if (composite(i)) cycle
    do k = i*i, limit, i
      composite(k) = .true.
    end do
  end do
  wrong = count(composite .neqv. expected)

  !$omp parallel do schedule(static, 1)
  do i = 1, words
    write (names(i), '(a, i0)') 'abc', i
  end do
  !$omp parallel do schedule(static, 1)
  do i = 1, words
    capitals(i) = names(i)
    capitals(i)(2:2) = 'B'
  end do
  !$omp parallel do schedule(static, 1)
  do i = 1, words
    counts(i) = int(len_trim(names(i)), 1)
  end do
  do i = 1, words
    if (counts(i) /= 3 + floor(log10(real(i) + 0.5)) + 1) wrong = wrong + 1
    if (capitals(i) /= 'aBc'//names(i)(4:)) wrong = wrong + 1
  end do
  if (wrong /= 0) then
    print *, wrong, ' are wrong'
    stop 1
  end if
  print '(a)', 'OK'
end program sieve_of_logicals
