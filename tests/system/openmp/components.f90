! Connected components by hooking in Fortran: labels race, and stay whole by default. Every gfortran program
! has signal handlers, which its library installs to print where a program died; they are no reason to treat
! the program's words as bytes.
program components
  implicit none
  integer, parameter :: vertices = 70000, edges = 160000
  ! On a stack they would be merged by byte.
  integer, save :: from(edges), to(edges), expected(vertices), labels(vertices)
  integer :: i, a, b, part, base, rounds, round
  integer(8) :: state
  logical :: changed

  state = 12345
  do round = 1, 5
    do i = 1, edges
      part = 2**(4 + mod(i, 12))
      base = next(vertices/part)*part
      from(i) = base + next(part) + 1
      to(i) = base + next(part) + 1
    end do
    do i = 1, vertices
      expected(i) = i
    end do
    do i = 1, edges
      a = root(from(i))
      b = root(to(i))
      expected(max(a, b)) = min(a, b)
    end do
    do i = 1, vertices
      expected(i) = root(i)
    end do

    rounds = 0
    changed = .true.
    !$omp parallel do
    do i = 1, vertices
      labels(i) = i
    end do
    do while (changed .and. rounds < 1000)
      changed = .false.
      rounds = rounds + 1
      !$omp parallel do private(a, b)
      do i = 1, edges
        a = labels(from(i))
        b = labels(to(i))
        if (a /= b) then
          if (labels(max(a, b)) == max(a, b)) then
            labels(max(a, b)) = min(a, b)
            changed = .true.
          end if
        end if
      end do
      !$omp parallel do
      do i = 1, vertices
        do while (labels(i) /= labels(labels(i)))
          labels(i) = labels(labels(i))
        end do
      end do
    end do
    if (any(labels /= expected)) then
      print *, 'wrong labels:', count(labels /= expected)
      stop 1
    end if
  end do

contains

  integer function next(below)
    integer, intent(in) :: below
    state = mod(state*48271_8, 2147483647_8)
    next = int(mod(state, int(below, 8)))
  end function next

  integer function root(vertex)
    integer, intent(in) :: vertex
    root = vertex
    do while (expected(root) /= root)
      root = expected(root)
    end do
  end function root
end program components
