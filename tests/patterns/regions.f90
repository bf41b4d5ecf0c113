! Regions of Fortran, called by the patterns: characters, logical(1) and integer(1), each of another
! iteration. With `parallel` false one thread runs the same code.
module regions
  use iso_c_binding
  implicit none

  type, bind(c) :: record
    integer(c_int8_t) :: kind
    logical(c_bool) :: known
    integer(c_int16_t) :: number
    character(c_char) :: letters(2)
  end type record

contains

  subroutine words_region(base, count, salt, threads, parallel) bind(c)
    character(c_char), intent(inout) :: base(*)
    integer(c_long), value :: count, salt
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    call fill_words(base, count, salt, threads, parallel)
  end subroutine words_region

  ! Words of five characters, as a program declares them.
  subroutine fill_words(words, count, salt, threads, parallel)
    integer(c_long), intent(in) :: count, salt
    character(5), intent(inout) :: words(count)
    integer(c_int), intent(in) :: threads
    logical(c_bool), intent(in) :: parallel
    character(5), parameter :: known(4) = ['stone', 'ivy  ', 'a    ', 'walls']
    integer(c_long) :: i
    !$omp parallel do schedule(static, 1) num_threads(threads) if(parallel)
    do i = 1, count
      words(i) = known(1 + mod(i + salt, 4_c_long))
    end do
  end subroutine fill_words

  subroutine letters_region(base, count, salt, threads, parallel) bind(c)
    character(c_char), intent(inout) :: base(*)
    integer(c_long), value :: count, salt
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    call fill_text(base, count, salt, threads, parallel)
  end subroutine letters_region

  subroutine fill_text(text, count, salt, threads, parallel)
    integer(c_long), intent(in) :: count, salt
    character(count), intent(inout) :: text(1)
    integer(c_int), intent(in) :: threads
    logical(c_bool), intent(in) :: parallel
    integer(c_long) :: i
    !$omp parallel do schedule(dynamic, 3) num_threads(threads) if(parallel)
    do i = 1, count
      text(1)(i:i) = achar(97 + mod(i*7 + salt, 26_c_long))
    end do
  end subroutine fill_text

  subroutine logicals_region(flags, count, salt, threads, parallel) bind(c)
    logical(1), intent(inout) :: flags(*)
    integer(c_long), value :: count, salt
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    integer(c_long) :: i
    !$omp parallel do schedule(static, 1) num_threads(threads) if(parallel)
    do i = 1, count
      flags(i) = mod(i*i + salt, 3_c_long) == 0
    end do
  end subroutine logicals_region

  ! Set by several iterations, between elements that none sets.
  subroutine true_logicals_region(flags, count, salt, threads, parallel) bind(c)
    logical(1), intent(inout) :: flags(*)
    integer(c_long), value :: count, salt
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    integer(c_long) :: i
    !$omp parallel do schedule(static) num_threads(threads) if(parallel)
    do i = 1, count
      flags(1 + mod(i*i + salt, count)) = .true.
    end do
  end subroutine true_logicals_region

  subroutine tiny_integers_region(bytes, count, salt, threads, parallel) bind(c)
    integer(1), intent(inout) :: bytes(*)
    integer(c_long), value :: count, salt
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    integer(c_long) :: i
    !$omp parallel do schedule(static) num_threads(threads) if(parallel)
    do i = 1, count
      bytes(i) = int(mod(i*37 + salt, 128_c_long) - 64, 1)
    end do
  end subroutine tiny_integers_region

  subroutine third_integers_region(bytes, count, salt, threads, parallel) bind(c)
    integer(1), intent(inout) :: bytes(*)
    integer(c_long), value :: count, salt
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    integer(c_long) :: i
    !$omp parallel do schedule(guided) num_threads(threads) if(parallel)
    do i = 1, 3*count, 3
      bytes(i) = int(mod(i + salt, 100_c_long), 1)
    end do
  end subroutine third_integers_region

  subroutine short_integers_region(shorts, count, salt, threads, parallel) bind(c)
    integer(2), intent(inout) :: shorts(*)
    integer(c_long), value :: count, salt
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    integer(c_long) :: i
    !$omp parallel do schedule(static, 1) num_threads(threads) if(parallel)
    do i = 1, count
      shorts(i) = int(mod(i*991 + salt, 30000_c_long), 2)
    end do
  end subroutine short_integers_region

  ! Sections of an array: columns of seven bytes.
  subroutine columns_region(bytes, count, salt, threads, parallel) bind(c)
    integer(1), intent(inout) :: bytes(7, *)
    integer(c_long), value :: count, salt
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    integer(c_long) :: i
    integer :: k
    integer(1), parameter :: shape(7) = [(int(k*3, 1), k=1, 7)]
    !$omp parallel do schedule(static, 1) num_threads(threads) if(parallel)
    do i = 1, count
      bytes(:, i) = shape + int(mod(i + salt, 100_c_long), 1)
    end do
  end subroutine columns_region

  subroutine records_region(records, count, salt, threads, parallel) bind(c)
    type(record), intent(inout) :: records(*)
    integer(c_long), value :: count, salt
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    integer(c_long) :: i
    !$omp parallel do schedule(static, 1) num_threads(threads) if(parallel)
    do i = 1, count
      records(i) = record(int(mod(i, 50_c_long), 1), mod(i + salt, 2_c_long) == 0, int(i + salt, 2), ['a', 'b'])
    end do
  end subroutine records_region

  ! Two planes in one region: integers in the first, characters in the second.
  subroutine planes_region(bytes, count, salt, threads, parallel) bind(c)
    integer(c_long), value :: count, salt
    integer(1), intent(inout) :: bytes(count, 2)
    integer(c_int), value :: threads
    logical(c_bool), value :: parallel
    integer(c_long) :: i
    !$omp parallel num_threads(threads) if(parallel)
    !$omp do schedule(static, 1)
    do i = 1, count
      bytes(i, 1) = bytes(i, 2) + int(mod(salt, 7_c_long), 1)
    end do
    !$omp do schedule(static)
    do i = 1, count
      bytes(i, 2) = int(mod(i, 90_c_long), 1)
    end do
    !$omp end parallel
  end subroutine planes_region

end module regions
