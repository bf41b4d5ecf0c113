! What Fortran programs do to loops: it prints the same with checks and without.
module grids
  implicit none
  integer, parameter :: n = 120
  real(8) :: shared_grid(n, n)
  common /block/ shared_grid
contains
  subroutine smooth(from, to)
    real(8), intent(in) :: from(:, :)
    real(8), intent(out) :: to(:, :)
    integer :: i, k
    to = 0
    do k = 2, size(from, 2) - 1
      do i = 2, size(from, 1) - 1
        to(i, k) = 0.25d0 * (from(i - 1, k) + from(i + 1, k) + from(i, k - 1) + from(i, k + 1))
      end do
    end do
  end subroutine

  recursive function depth(level) result(sum)
    integer, intent(in) :: level
    real(8) :: sum, local(600)
    integer :: i
    do i = 1, 600
      local(i) = i * level
    end do
    sum = local(level)
    if (level > 1) sum = sum + depth(level - 1)
  end function
end module

program language
  use grids
  implicit none
  real(8), allocatable :: a(:, :), b(:, :), c(:, :)
  integer :: i, k
  allocate(a(n, n), b(n, n))
  do k = n, 1, -1
    do i = 1, n
      a(i, k) = mod(i * 7 + k * 3, 11)
    end do
  end do
  call smooth(a, b)
  call smooth(a(1:n:2, 1:n:3), b(1:n:2, 1:n:3))
  shared_grid = transpose(b)
  c = matmul(a, b)
  print '(3f16.6)', sum(b), sum(shared_grid(:, 5)), c(3, 4)
  do i = 1, n
    do k = i, n
      c(k, i) = c(i, k) + a(k, i)
    end do
  end do
  where (c > 100) c = 100
  print '(2f20.6, i8)', sum(c), maxval(c), count(c > 50)
  print '(f16.4)', depth(12)
end program
