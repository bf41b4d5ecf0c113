// The program's locks, in C and in Fortran (also by address of the lock).
#include "omp/locks.h"

#include "omp/entry.h"

using namespace musubi::omp;

extern "C" {

// A lock is identified by its address: nothing to initialise or to destroy.
#define MUSUBI_LOCK_FUNCTIONS(suffix)                           \
  MUSUBI_EXPORT void omp_init_lock##suffix(LockWord* lock) {    \
    MUSUBI_OMP_ENTRY();                                         \
    events::lock_made(events::Mutex::lock, lock);               \
  }                                                             \
  MUSUBI_EXPORT void omp_destroy_lock##suffix(LockWord* lock) { \
    MUSUBI_OMP_ENTRY();                                         \
    events::lock_destroyed(events::Mutex::lock, lock);          \
  }                                                             \
  MUSUBI_EXPORT void omp_set_lock##suffix(LockWord* lock) {     \
    MUSUBI_OMP_ENTRY();                                         \
    set_lock(lock);                                             \
  }                                                             \
  MUSUBI_EXPORT void omp_unset_lock##suffix(LockWord* lock) {   \
    MUSUBI_OMP_ENTRY();                                         \
    unset_lock(lock);                                           \
  }                                                             \
  MUSUBI_EXPORT int omp_test_lock##suffix(LockWord* lock) {     \
    MUSUBI_OMP_ENTRY();                                         \
    return test_lock(lock);                                     \
  }
MUSUBI_LOCK_FUNCTIONS()
MUSUBI_LOCK_FUNCTIONS(_)

// The variable of a nestable lock holds the lock's address.
#define MUSUBI_NEST_LOCK_FUNCTIONS(suffix)                                 \
  MUSUBI_EXPORT void omp_init_nest_lock##suffix(NestLockHandle* lock) {    \
    MUSUBI_OMP_ENTRY();                                                    \
    initialise_nest_lock(*lock);                                           \
    events::lock_made(events::Mutex::nest_lock, &lock_of(*lock));          \
  }                                                                        \
  MUSUBI_EXPORT void omp_destroy_nest_lock##suffix(NestLockHandle* lock) { \
    MUSUBI_OMP_ENTRY();                                                    \
    events::lock_destroyed(events::Mutex::nest_lock, &lock_of(*lock));     \
    destroy_nest_lock(*lock);                                              \
  }                                                                        \
  MUSUBI_EXPORT void omp_set_nest_lock##suffix(NestLockHandle* lock) {     \
    MUSUBI_OMP_ENTRY();                                                    \
    set_nest_lock(lock_of(*lock));                                         \
  }                                                                        \
  MUSUBI_EXPORT void omp_unset_nest_lock##suffix(NestLockHandle* lock) {   \
    MUSUBI_OMP_ENTRY();                                                    \
    unset_nest_lock(lock_of(*lock));                                       \
  }                                                                        \
  MUSUBI_EXPORT int omp_test_nest_lock##suffix(NestLockHandle* lock) {     \
    MUSUBI_OMP_ENTRY();                                                    \
    return static_cast<int>(test_nest_lock(lock_of(*lock)));               \
  }
MUSUBI_NEST_LOCK_FUNCTIONS()
MUSUBI_NEST_LOCK_FUNCTIONS(_)

// Hints are ignored.
MUSUBI_EXPORT void omp_init_lock_with_hint(LockWord* lock, int hint) {
  MUSUBI_OMP_ENTRY();
  events::lock_made(events::Mutex::lock, lock, static_cast<unsigned>(hint));
}
MUSUBI_EXPORT void omp_init_nest_lock_with_hint(NestLockHandle* lock, int hint) {
  MUSUBI_OMP_ENTRY();
  initialise_nest_lock(*lock);
  events::lock_made(events::Mutex::nest_lock, &lock_of(*lock), static_cast<unsigned>(hint));
}
MUSUBI_EXPORT void omp_init_lock_with_hint_(LockWord* lock, const int* hint) {
  MUSUBI_OMP_ENTRY();
  events::lock_made(events::Mutex::lock, lock, static_cast<unsigned>(*hint));
}
MUSUBI_EXPORT void omp_init_nest_lock_with_hint_(NestLockHandle* lock, const int* hint) {
  MUSUBI_OMP_ENTRY();
  initialise_nest_lock(*lock);
  events::lock_made(events::Mutex::nest_lock, &lock_of(*lock), static_cast<unsigned>(*hint));
}

}  // extern "C"
