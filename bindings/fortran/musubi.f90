! musubi.h for Fortran 2008: the same functions under the same names, by ISO_C_BINDING.
!
!   use, intrinsic :: iso_c_binding
!   use musubi
!   type(c_ptr) :: memory
!   real(c_double), pointer :: x(:)
!   call musubi_require(musubi_init())
!   call musubi_require(musubi_alloc_with(musubi_attributes(), 8_c_size_t * n, memory))
!   call c_f_pointer(memory, x, [n])
!
! musubi.h says how each function behaves, its result and its errors. Results are integer(c_int): MUSUBI_OK or
! an error code. Ranks, locks and conditions count from 0, as in C. This module adds musubi_require, and gives
! musubi_init, musubi_abort and musubi_error_text a Fortran interface.
module musubi
  use, intrinsic :: iso_c_binding
  implicit none

  enum, bind(c)
    enumerator :: MUSUBI_OK = 0, MUSUBI_ERROR_STATE, MUSUBI_ERROR_START, MUSUBI_ERROR_ADDRESS
    enumerator :: MUSUBI_ERROR_ALIGNMENT, MUSUBI_ERROR_LOCK, MUSUBI_ERROR_HELD, MUSUBI_ERROR_NOT_HELD
    enumerator :: MUSUBI_BUSY, MUSUBI_TIMEOUT, MUSUBI_ERROR_ARGUMENT, MUSUBI_ERROR_MEMORY
  end enum
  enum, bind(c)
    enumerator :: MUSUBI_PLACE_CYCLIC = 0, MUSUBI_PLACE_BLOCK, MUSUBI_PLACE_AT, MUSUBI_PLACE_FIRST_TOUCH
  end enum
  enum, bind(c)
    enumerator :: MUSUBI_POLICY_MIGRATING = 0, MUSUBI_POLICY_HOME, MUSUBI_POLICY_ENTRY, MUSUBI_POLICY_HOME_ONLY
  end enum
  enum, bind(c)
    enumerator :: MUSUBI_CHECKED_BY_PAGES = 0, MUSUBI_CHECKED_BY_CODE
  end enum
  enum, bind(c)
    enumerator :: MUSUBI_INT32 = 0, MUSUBI_UINT32, MUSUBI_INT64, MUSUBI_UINT64, MUSUBI_FLOAT, MUSUBI_DOUBLE
  end enum
  enum, bind(c)
    enumerator :: MUSUBI_SUM = 0, MUSUBI_PROD, MUSUBI_MIN, MUSUBI_MAX, MUSUBI_AND, MUSUBI_OR, MUSUBI_XOR
  end enum
  integer(c_int32_t), parameter :: MUSUBI_LOCK_COUNT = 65536
  integer(c_int32_t), parameter :: MUSUBI_RWLOCK_COUNT = 4096
  integer(c_int32_t), parameter :: MUSUBI_COND_COUNT = 4096
  integer(c_int32_t), parameter :: MUSUBI_BLOCK_BYTES_MAX = 2097152
  integer(c_int32_t), parameter :: MUSUBI_CHECKED_BLOCK_BYTES_MIN = 64

  type, bind(c) :: musubi_attributes
    integer(c_size_t) :: alignment = 0, block_bytes = 0
    integer(c_int) :: placement = 0, home = 0, policy = 0, checks = 0
    integer(c_size_t) :: element_bytes = 0
  end type musubi_attributes

  type, bind(c) :: musubi_range
    type(c_ptr) :: memory
    integer(c_size_t) :: bytes
  end type musubi_range

  ! The job and its threads.
  interface
    function initialize_job(argc, argv) bind(c, name="musubi_init") result(error)
      import :: c_int, c_ptr
      type(c_ptr), value :: argc, argv
      integer(c_int) :: error
    end function initialize_job
    function musubi_finalize(status) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: status
      integer(c_int) :: error
    end function musubi_finalize
    subroutine musubi_abort_c(status, reason) bind(c, name="musubi_abort")
      import :: c_int, c_char
      integer(c_int), value :: status
      character(kind=c_char), intent(in) :: reason(*)
    end subroutine musubi_abort_c
    function musubi_rank() bind(c) result(number)
      import :: c_int
      integer(c_int) :: number
    end function musubi_rank
    function musubi_size() bind(c) result(number)
      import :: c_int
      integer(c_int) :: number
    end function musubi_size
    function musubi_attach_thread() bind(c) result(error)
      import :: c_int
      integer(c_int) :: error
    end function musubi_attach_thread
    function musubi_detach_thread() bind(c) result(error)
      import :: c_int
      integer(c_int) :: error
    end function musubi_detach_thread
    function error_text(error) bind(c, name="musubi_error_text") result(text)
      import :: c_int, c_ptr
      integer(c_int), value :: error
      type(c_ptr) :: text
    end function error_text
    function string_length(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function string_length
  end interface
  private :: initialize_job, error_text, string_length

  ! Memory.
  interface
    function musubi_alloc(bytes) bind(c) result(memory)
      import :: c_size_t, c_ptr
      integer(c_size_t), value :: bytes
      type(c_ptr) :: memory
    end function musubi_alloc
    function musubi_alloc_aligned(alignment, bytes) bind(c) result(memory)
      import :: c_size_t, c_ptr
      integer(c_size_t), value :: alignment, bytes
      type(c_ptr) :: memory
    end function musubi_alloc_aligned
    function musubi_alloc_at(rank, bytes) bind(c) result(memory)
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: rank
      integer(c_size_t), value :: bytes
      type(c_ptr) :: memory
    end function musubi_alloc_at
    function musubi_free(memory) bind(c) result(error)
      import :: c_int, c_ptr
      type(c_ptr), value :: memory
      integer(c_int) :: error
    end function musubi_free
    function musubi_alloc_with(attributes, bytes, memory) bind(c) result(error)
      import :: c_int, c_size_t, c_ptr, musubi_attributes
      type(musubi_attributes), intent(in) :: attributes
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(out) :: memory
      integer(c_int) :: error
    end function musubi_alloc_with
    function musubi_set_home(memory, bytes, rank) bind(c) result(error)
      import :: c_int, c_size_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
      integer(c_int), value :: rank
      integer(c_int) :: error
    end function musubi_set_home
    function musubi_free_with(memory) bind(c) result(error)
      import :: c_int, c_ptr
      type(c_ptr), value :: memory
      integer(c_int) :: error
    end function musubi_free_with
    function musubi_touch(memory, bytes, writable) bind(c) result(error)
      import :: c_int, c_size_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
      integer(c_int), value :: writable
      integer(c_int) :: error
    end function musubi_touch
    function musubi_prefetch(memory, bytes, writable) bind(c) result(error)
      import :: c_int, c_size_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
      integer(c_int), value :: writable
      integer(c_int) :: error
    end function musubi_prefetch
    function musubi_release_range(memory, bytes) bind(c) result(error)
      import :: c_int, c_size_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
      integer(c_int) :: error
    end function musubi_release_range
    function musubi_prefetch_all(ranges, count, writable) bind(c) result(error)
      import :: c_int, c_size_t, musubi_range
      type(musubi_range), intent(in) :: ranges(*)
      integer(c_size_t), value :: count
      integer(c_int), value :: writable
      integer(c_int) :: error
    end function musubi_prefetch_all
    subroutine musubi_check_read(memory, bytes) bind(c)
      import :: c_size_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
    end subroutine musubi_check_read
    subroutine musubi_check_write(memory, bytes) bind(c)
      import :: c_size_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
    end subroutine musubi_check_write
    subroutine musubi_check_overwrite(memory, bytes) bind(c)
      import :: c_size_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
    end subroutine musubi_check_overwrite
    subroutine musubi_check_written(memory, bytes) bind(c)
      import :: c_size_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
    end subroutine musubi_check_written
  end interface

  ! Barrier, locks, conditions, flush.
  interface
    function musubi_barrier() bind(c) result(error)
      import :: c_int
      integer(c_int) :: error
    end function musubi_barrier
    function musubi_flush() bind(c) result(error)
      import :: c_int
      integer(c_int) :: error
    end function musubi_flush
    function musubi_lock(lock) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: lock
      integer(c_int) :: error
    end function musubi_lock
    function musubi_trylock(lock) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: lock
      integer(c_int) :: error
    end function musubi_trylock
    function musubi_unlock(lock) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: lock
      integer(c_int) :: error
    end function musubi_unlock
    function musubi_rdlock(rwlock) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: rwlock
      integer(c_int) :: error
    end function musubi_rdlock
    function musubi_tryrdlock(rwlock) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: rwlock
      integer(c_int) :: error
    end function musubi_tryrdlock
    function musubi_wrlock(rwlock) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: rwlock
      integer(c_int) :: error
    end function musubi_wrlock
    function musubi_trywrlock(rwlock) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: rwlock
      integer(c_int) :: error
    end function musubi_trywrlock
    function musubi_rwunlock(rwlock) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: rwlock
      integer(c_int) :: error
    end function musubi_rwunlock
    function musubi_cond_wait(condition, lock) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: condition, lock
      integer(c_int) :: error
    end function musubi_cond_wait
    function musubi_cond_timedwait(condition, lock, timeout_ns) bind(c) result(error)
      import :: c_int, c_int32_t, c_int64_t
      integer(c_int32_t), value :: condition, lock
      integer(c_int64_t), value :: timeout_ns
      integer(c_int) :: error
    end function musubi_cond_timedwait
    function musubi_cond_signal(condition) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: condition
      integer(c_int) :: error
    end function musubi_cond_signal
    function musubi_cond_broadcast(condition) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: condition
      integer(c_int) :: error
    end function musubi_cond_broadcast
  end interface

  ! Collective operations.
  interface
    function broadcast_address(pointer) bind(c, name="musubi_broadcast") result(error)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: pointer
      integer(c_int) :: error
    end function broadcast_address
    function musubi_broadcast_values(values, bytes, root) bind(c) result(error)
      import :: c_int, c_size_t, c_ptr
      type(c_ptr), value :: values
      integer(c_size_t), value :: bytes
      integer(c_int), value :: root
      integer(c_int) :: error
    end function musubi_broadcast_values
    function musubi_reduce(values, count, type, operation, root) bind(c) result(error)
      import :: c_int, c_size_t, c_ptr
      type(c_ptr), value :: values
      integer(c_size_t), value :: count
      integer(c_int), value :: type, operation, root
      integer(c_int) :: error
    end function musubi_reduce
    function musubi_allreduce(values, count, type, operation) bind(c) result(error)
      import :: c_int, c_size_t, c_ptr
      type(c_ptr), value :: values
      integer(c_size_t), value :: count
      integer(c_int), value :: type, operation
      integer(c_int) :: error
    end function musubi_allreduce
  end interface
  private :: broadcast_address

  ! Atomic operations on words of shared memory.
  interface
    function musubi_atomic_load_32(word, value) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), intent(in), target :: word
      integer(c_int32_t), intent(out) :: value
      integer(c_int) :: error
    end function musubi_atomic_load_32
    function musubi_atomic_load_64(word, value) bind(c) result(error)
      import :: c_int, c_int64_t
      integer(c_int64_t), intent(in), target :: word
      integer(c_int64_t), intent(out) :: value
      integer(c_int) :: error
    end function musubi_atomic_load_64
    function musubi_atomic_store_32(word, value) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), intent(inout), target :: word
      integer(c_int32_t), value :: value
      integer(c_int) :: error
    end function musubi_atomic_store_32
    function musubi_atomic_store_64(word, value) bind(c) result(error)
      import :: c_int, c_int64_t
      integer(c_int64_t), intent(inout), target :: word
      integer(c_int64_t), value :: value
      integer(c_int) :: error
    end function musubi_atomic_store_64
    function musubi_atomic_fetch_add_32(word, amount, old) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), intent(inout), target :: word
      integer(c_int32_t), value :: amount
      integer(c_int32_t), intent(out) :: old
      integer(c_int) :: error
    end function musubi_atomic_fetch_add_32
    function musubi_atomic_fetch_add_64(word, amount, old) bind(c) result(error)
      import :: c_int, c_int64_t
      integer(c_int64_t), intent(inout), target :: word
      integer(c_int64_t), value :: amount
      integer(c_int64_t), intent(out) :: old
      integer(c_int) :: error
    end function musubi_atomic_fetch_add_64
    function musubi_atomic_compare_swap_32(word, expected, desired, old) bind(c) result(error)
      import :: c_int, c_int32_t
      integer(c_int32_t), intent(inout), target :: word
      integer(c_int32_t), value :: expected, desired
      integer(c_int32_t), intent(out) :: old
      integer(c_int) :: error
    end function musubi_atomic_compare_swap_32
    function musubi_atomic_compare_swap_64(word, expected, desired, old) bind(c) result(error)
      import :: c_int, c_int64_t
      integer(c_int64_t), intent(inout), target :: word
      integer(c_int64_t), value :: expected, desired
      integer(c_int64_t), intent(out) :: old
      integer(c_int) :: error
    end function musubi_atomic_compare_swap_64
  end interface

contains

  ! Joins the job. Collective, once, blocks.
  function musubi_init() result(error)
    integer(c_int) :: error
    error = initialize_job(c_null_ptr, c_null_ptr)
  end function musubi_init

  ! Ends all ranks at once as a failure. Never returns.
  subroutine musubi_abort(status, reason)
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: reason
    call musubi_abort_c(status, trim(reason) // c_null_char)
  end subroutine musubi_abort

  ! The meaning of an error code, and the remedy.
  function musubi_error_text(error) result(text)
    integer(c_int), intent(in) :: error
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: address
    integer :: i
    address = error_text(error)
    call c_f_pointer(address, letters, [string_length(address)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function musubi_error_text

  ! Ends the job unless `error` is MUSUBI_OK.
  subroutine musubi_require(error)
    integer(c_int), intent(in) :: error
    if (error /= MUSUBI_OK) call musubi_abort(1, musubi_error_text(error))
  end subroutine musubi_require

  ! Broadcasts rank 0's address to every rank; includes a barrier. Collective.
  function musubi_broadcast(address) result(error)
    type(c_ptr), intent(inout) :: address
    integer(c_int) :: error
    error = broadcast_address(address)
  end function musubi_broadcast

end module musubi
