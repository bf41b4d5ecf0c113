// The program's locks under the names that old compilers call.
#include "omp/locks.h"

#include "omp/entry.h"
#include "omp/kmp/abi.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

extern "C" {

MUSUBI_EXPORT void __kmpc_init_lock(Place*, GlobalThread, void** /*lock*/) {}
MUSUBI_EXPORT void __kmpc_init_lock_with_hint(Place*, GlobalThread, void** /*lock*/,
                                              std::uintptr_t /*hint*/) {}
MUSUBI_EXPORT void __kmpc_destroy_lock(Place*, GlobalThread, void** /*lock*/) {}
MUSUBI_EXPORT void __kmpc_set_lock(Place*, GlobalThread, void** lock) {
  MUSUBI_OMP_ENTRY();
  set_lock(lock);
}
MUSUBI_EXPORT void __kmpc_unset_lock(Place*, GlobalThread, void** lock) {
  MUSUBI_OMP_ENTRY();
  unset_lock(lock);
}
MUSUBI_EXPORT std::int32_t __kmpc_test_lock(Place*, GlobalThread, void** lock) {
  MUSUBI_OMP_ENTRY();
  return test_lock(lock);
}

MUSUBI_EXPORT void __kmpc_init_nest_lock(Place*, GlobalThread, NestLockHandle* lock) {
  MUSUBI_OMP_ENTRY();
  initialise_nest_lock(*lock);
}
MUSUBI_EXPORT void __kmpc_init_nest_lock_with_hint(Place*, GlobalThread, NestLockHandle* lock,
                                                   std::uintptr_t /*hint*/) {
  MUSUBI_OMP_ENTRY();
  initialise_nest_lock(*lock);
}
MUSUBI_EXPORT void __kmpc_destroy_nest_lock(Place*, GlobalThread, NestLockHandle* lock) {
  MUSUBI_OMP_ENTRY();
  destroy_nest_lock(*lock);
}
MUSUBI_EXPORT void __kmpc_set_nest_lock(Place*, GlobalThread, NestLockHandle* lock) {
  MUSUBI_OMP_ENTRY();
  set_nest_lock(lock_of(*lock));
}
MUSUBI_EXPORT void __kmpc_unset_nest_lock(Place*, GlobalThread, NestLockHandle* lock) {
  MUSUBI_OMP_ENTRY();
  unset_nest_lock(lock_of(*lock));
}
MUSUBI_EXPORT std::int32_t __kmpc_test_nest_lock(Place*, GlobalThread, NestLockHandle* lock) {
  MUSUBI_OMP_ENTRY();
  return static_cast<std::int32_t>(test_nest_lock(lock_of(*lock)));
}

}  // extern "C"
