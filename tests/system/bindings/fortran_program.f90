! A rank of a job that tries the module `musubi`: every function once, and the calls that it refuses.
program fortran_program
  use, intrinsic :: iso_c_binding
  use musubi
  implicit none
  integer, parameter :: n = 100000
  integer(c_int) :: rank, ranks
  real(c_double), pointer :: x(:)
  integer(c_int64_t), pointer :: words(:)
  integer(c_int32_t), pointer :: narrow(:)
  type(c_ptr) :: memory

  call check(musubi_barrier() == MUSUBI_ERROR_STATE, "a call before musubi_init")
  call musubi_require(musubi_init())
  rank = musubi_rank()
  ranks = musubi_size()
  call check(musubi_init() == MUSUBI_ERROR_STATE, "a second musubi_init")
  call check(index(musubi_error_text(MUSUBI_ERROR_LOCK), "lock") > 0, "error text")
  call arrays()
  call locks()
  call collectives()
  call atomics()
  call musubi_require(musubi_finalize(40 + rank))

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) call musubi_abort(99, what)
  end subroutine check

  subroutine arrays()
    integer :: i
    type(musubi_attributes) :: attributes
    attributes%placement = MUSUBI_PLACE_AT
    attributes%home = ranks - 1
    attributes%policy = MUSUBI_POLICY_HOME
    attributes%block_bytes = 8192
    call musubi_require(musubi_alloc_with(attributes, 8_c_size_t * n, memory))
    call c_f_pointer(memory, x, [n])
    do i = rank + 1, n, ranks
      x(i) = i
    end do
    call musubi_require(musubi_release_range(memory, 8_c_size_t * n))
    call musubi_require(musubi_barrier())
    call musubi_require(musubi_prefetch(memory, 8_c_size_t * n, 0))
    call musubi_require(musubi_touch(memory, 8_c_size_t * n, 0))
    call check(sum(x) == 0.5d0 * n * (n + 1), "the sum of the array")
    attributes%home = ranks
    call check(musubi_alloc_with(attributes, 8_c_size_t, memory) == MUSUBI_ERROR_ARGUMENT, "no such rank")
    call musubi_require(musubi_free_with(c_loc(x)))

    if (rank == 0) then
      memory = musubi_alloc(32_c_size_t)
      call check(c_associated(memory), "musubi_alloc")
      call c_f_pointer(memory, words, [4])
      words = 0
    end if
    call musubi_require(musubi_broadcast(memory))
    call c_f_pointer(memory, words, [4])
    call c_f_pointer(c_loc(words(3)), narrow, [2])
    memory = musubi_alloc_aligned(4096_c_size_t, 100_c_size_t)
    call check(c_associated(memory), "musubi_alloc_aligned")
    call musubi_require(musubi_free(memory))
    memory = musubi_alloc_at(ranks - 1, 100_c_size_t)
    call check(c_associated(memory), "musubi_alloc_at")
    call musubi_require(musubi_free(memory))
  end subroutine arrays

  subroutine locks()
    integer :: i
    do i = 1, 100
      call musubi_require(musubi_lock(7))
      words(1) = words(1) + 1
      call musubi_require(musubi_unlock(7))
    end do
    call check(musubi_unlock(7) == MUSUBI_ERROR_NOT_HELD, "unlock of what is not held")
    call check(musubi_trylock(MUSUBI_LOCK_COUNT) == MUSUBI_ERROR_LOCK, "no such lock")
    call musubi_require(musubi_lock(8))
    words(2) = words(2) + 1
    call musubi_require(musubi_cond_broadcast(3))
    do while (words(2) < ranks)
      call musubi_require(musubi_cond_wait(3, 8))
    end do
    call check(musubi_cond_timedwait(4 + rank, 8, 1000_c_int64_t) == MUSUBI_TIMEOUT, "a wait that times out")
    call musubi_require(musubi_cond_signal(4 + rank))
    call musubi_require(musubi_unlock(8))
    call musubi_require(musubi_wrlock(1))
    call check(musubi_tryrdlock(1) == MUSUBI_ERROR_HELD, "a lock that this thread holds")
    call musubi_require(musubi_rwunlock(1))
    call musubi_require(musubi_rdlock(1))
    call check(musubi_trywrlock(1) == MUSUBI_ERROR_HELD, "a lock that this thread reads under")
    call musubi_require(musubi_rwunlock(1))
    call musubi_require(musubi_flush())
    call musubi_require(musubi_barrier())
    call check(words(1) == 100 * ranks, "the sum under the lock")
  end subroutine locks

  subroutine collectives()
    real(c_double), target :: values(2)
    integer(c_int64_t), target :: number
    values = [1.5d0, real(rank, c_double)]
    call musubi_require(musubi_allreduce(c_loc(values), 2_c_size_t, MUSUBI_DOUBLE, MUSUBI_SUM))
    call check(values(1) == 1.5d0 * ranks .and. values(2) == 0.5d0 * ranks * (ranks - 1), "musubi_allreduce")
    number = rank
    call musubi_require(musubi_reduce(c_loc(number), 1_c_size_t, MUSUBI_INT64, MUSUBI_MAX, 0))
    call check(number == merge(ranks - 1, rank, rank == 0), "musubi_reduce")
    number = rank
    call musubi_require(musubi_broadcast_values(c_loc(number), 8_c_size_t, ranks - 1))
    call check(number == ranks - 1, "musubi_broadcast_values")
  end subroutine collectives

  subroutine atomics()
    integer(c_int64_t) :: old
    integer(c_int32_t) :: short
    call musubi_require(musubi_atomic_store_64(words(4), 5_c_int64_t))
    call musubi_require(musubi_atomic_store_32(narrow(1), 5_c_int32_t))
    call musubi_require(musubi_barrier())
    call musubi_require(musubi_atomic_fetch_add_64(words(4), 2_c_int64_t, old))
    call musubi_require(musubi_atomic_fetch_add_32(narrow(1), 2_c_int32_t, short))
    call musubi_require(musubi_barrier())
    call musubi_require(musubi_atomic_load_64(words(4), old))
    call musubi_require(musubi_atomic_load_32(narrow(1), short))
    call check(old == 5 + 2 * ranks .and. short == 5 + 2 * ranks, "atomic additions")
    call musubi_require(musubi_barrier())
    call musubi_require(musubi_atomic_compare_swap_64(words(4), 5_c_int64_t + 2 * ranks, 0_c_int64_t, old))
    call musubi_require(musubi_atomic_compare_swap_32(narrow(1), 5 + 2 * ranks, 0, short))
    call musubi_require(musubi_barrier())
    call check(words(4) == 0 .and. narrow(1) == 0, "atomic compare and swap")
    call musubi_require(musubi_attach_thread())
    call musubi_require(musubi_barrier())
  end subroutine atomics

end program fortran_program
