// Atomic operations by name, as Intel's compilers call them; other compilers emit instructions.
#include <algorithm>

#include "omp/entry.h"
#include "omp/kmp/abi.h"
#include "omp/kmp/atomic_change.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

#pragma GCC diagnostic ignored "-Wpedantic"  // complex numbers as in C

namespace {

using fixed1 = std::int8_t;
using fixed2 = std::int16_t;
using fixed4 = std::int32_t;
using fixed8 = std::int64_t;
using fixed1u = std::uint8_t;
using fixed2u = std::uint16_t;
using fixed4u = std::uint32_t;
using fixed8u = std::uint64_t;
using float4 = float;
using float8 = double;
using float10 = long double;
using cmplx4 = _Complex float;
using cmplx8 = _Complex double;
using cmplx10 = _Complex long double;

// The operations by the names that the interface gives them.
struct add_operation {
  auto operator()(auto a, auto b) const { return a + b; }
};
struct sub_operation {
  auto operator()(auto a, auto b) const { return a - b; }
};
struct mul_operation {
  auto operator()(auto a, auto b) const { return a * b; }
};
struct div_operation {
  auto operator()(auto a, auto b) const { return a / b; }
};
struct andb_operation {
  auto operator()(auto a, auto b) const { return a & b; }
};
struct orb_operation {
  auto operator()(auto a, auto b) const { return a | b; }
};
struct neqv_operation {
  auto operator()(auto a, auto b) const { return a ^ b; }
};
using xor_operation = neqv_operation;
struct eqv_operation {
  auto operator()(auto a, auto b) const { return a ^ ~b; }
};
struct andl_operation {
  auto operator()(auto a, auto b) const { return a && b; }
};
struct orl_operation {
  auto operator()(auto a, auto b) const { return a || b; }
};
struct shl_operation {
  auto operator()(auto a, auto b) const { return a << b; }
};
struct shr_operation {
  auto operator()(auto a, auto b) const { return a >> b; }
};
struct max_operation {
  auto operator()(auto a, auto b) const { return a < b ? b : a; }
};
struct min_operation {
  auto operator()(auto a, auto b) const { return b < a ? b : a; }
};

template <class T, class Operation, class Other>
Change<T> change_by(T* target, Other operand) {
  return change(target, [&](T old) { return static_cast<T>(Operation()(old, operand)); });
}
template <class T, class Operation>
Change<T> change_reversed(T* target, T operand) {
  return change(target, [&](T old) { return static_cast<T>(Operation()(operand, old)); });
}
template <class T>
T chosen(const Change<T>& change, int wants_new) {
  return wants_new != 0 ? change.after : change.before;
}

template <class T>
Change<T> compare_exchange(T* target, T expected, T desired) {
  return change(target, [&](T old) { return old == expected ? desired : old; });
}

using GenericOperation = void (*)(void* result, void* left, void* right);

template <class T>
void generic(void* target, void* operand, GenericOperation operation) {
  change(static_cast<T*>(target), [&](T old) {
    T result;
    operation(&result, &old, operand);
    return result;
  });
}
void generic_in_region(void* target, void* operand, GenericOperation operation) {
  const AtomicRegion region;
  operation(target, target, operand);
}

}  // namespace

extern "C" {

#define MUSUBI_UPDATE(name, type, function, operation)                                        \
  MUSUBI_EXPORT void __kmpc_atomic_##name(Place*, GlobalThread, type* target, type operand) { \
    MUSUBI_OMP_ENTRY();                                                                       \
    function<type, operation##_operation>(target, operand);                                   \
  }
#define MUSUBI_CAPTURE(name, type, function, operation)                                                      \
  MUSUBI_EXPORT type __kmpc_atomic_##name(Place*, GlobalThread, type* target, type operand, int wants_new) { \
    MUSUBI_OMP_ENTRY();                                                                                      \
    return chosen(function<type, operation##_operation>(target, operand), wants_new);                        \
  }
#define MUSUBI_ATOMIC(type, operation)                          \
  MUSUBI_UPDATE(type##_##operation, type, change_by, operation) \
  MUSUBI_CAPTURE(type##_##operation##_cpt, type, change_by, operation)
#define MUSUBI_ATOMIC_REV(type, operation)                                  \
  MUSUBI_UPDATE(type##_##operation##_rev, type, change_reversed, operation) \
  MUSUBI_CAPTURE(type##_##operation##_cpt_rev, type, change_reversed, operation)
#define MUSUBI_CAPTURE_TO(name, type, function, operation)                                                  \
  MUSUBI_EXPORT void __kmpc_atomic_##name(Place*, GlobalThread, type* target, type operand, type* captured, \
                                          int wants_new) {                                                  \
    MUSUBI_OMP_ENTRY();                                                                                     \
    *captured = chosen(function<type, operation##_operation>(target, operand), wants_new);                  \
  }
#define MUSUBI_ATOMIC_TO(type, operation)                       \
  MUSUBI_UPDATE(type##_##operation, type, change_by, operation) \
  MUSUBI_CAPTURE_TO(type##_##operation##_cpt, type, change_by, operation)
#define MUSUBI_ATOMIC_REV_TO(type, operation)                               \
  MUSUBI_UPDATE(type##_##operation##_rev, type, change_reversed, operation) \
  MUSUBI_CAPTURE_TO(type##_##operation##_cpt_rev, type, change_reversed, operation)
#define MUSUBI_ATOMIC_OTHER(type, operation, other)                                                   \
  MUSUBI_EXPORT void __kmpc_atomic_##type##_##operation##_##other(Place*, GlobalThread, type* target, \
                                                                  other operand) {                    \
    MUSUBI_OMP_ENTRY();                                                                               \
    change_by<type, operation##_operation>(target, operand);                                          \
  }
#define MUSUBI_READ_WRITE(type)                                                                    \
  MUSUBI_EXPORT type __kmpc_atomic_##type##_rd(Place*, GlobalThread, type* target) {               \
    MUSUBI_OMP_ENTRY();                                                                            \
    return change(target, [](type old) { return old; }).before;                                    \
  }                                                                                                \
  MUSUBI_EXPORT void __kmpc_atomic_##type##_wr(Place*, GlobalThread, type* target, type operand) { \
    MUSUBI_OMP_ENTRY();                                                                            \
    change(target, [=](type) { return operand; });                                                 \
  }
#define MUSUBI_ATOMIC_ACCESS(type)                                                                  \
  MUSUBI_READ_WRITE(type)                                                                           \
  MUSUBI_EXPORT type __kmpc_atomic_##type##_swp(Place*, GlobalThread, type* target, type operand) { \
    MUSUBI_OMP_ENTRY();                                                                             \
    return change(target, [=](type) { return operand; }).before;                                    \
  }
#define MUSUBI_ATOMIC_ACCESS_TO(type)                                                             \
  MUSUBI_READ_WRITE(type)                                                                         \
  MUSUBI_EXPORT void __kmpc_atomic_##type##_swp(Place*, GlobalThread, type* target, type operand, \
                                                type* captured) {                                 \
    MUSUBI_OMP_ENTRY();                                                                           \
    *captured = change(target, [=](type) { return operand; }).before;                             \
  }
#define MUSUBI_ATOMIC_CAS(bytes)                                                                            \
  MUSUBI_EXPORT bool __kmpc_atomic_bool_##bytes##_cas(Place*, GlobalThread, fixed##bytes* target,           \
                                                      fixed##bytes expected, fixed##bytes desired) {        \
    MUSUBI_OMP_ENTRY();                                                                                     \
    return compare_exchange(target, expected, desired).before == expected;                                  \
  }                                                                                                         \
  MUSUBI_EXPORT fixed##bytes __kmpc_atomic_val_##bytes##_cas(Place*, GlobalThread, fixed##bytes* target,    \
                                                             fixed##bytes expected, fixed##bytes desired) { \
    MUSUBI_OMP_ENTRY();                                                                                     \
    return compare_exchange(target, expected, desired).before;                                              \
  }                                                                                                         \
  MUSUBI_EXPORT bool __kmpc_atomic_bool_##bytes##_cas_cpt(Place*, GlobalThread, fixed##bytes* target,       \
                                                          fixed##bytes expected, fixed##bytes desired,      \
                                                          fixed##bytes* seen) {                             \
    MUSUBI_OMP_ENTRY();                                                                                     \
    const fixed##bytes before = compare_exchange(target, expected, desired).before;                         \
    if (before != expected) *seen = before;                                                                 \
    return before == expected;                                                                              \
  }                                                                                                         \
  MUSUBI_EXPORT fixed##bytes __kmpc_atomic_val_##bytes##_cas_cpt(                                           \
      Place*, GlobalThread, fixed##bytes* target, fixed##bytes expected, fixed##bytes desired,              \
      fixed##bytes* after) {                                                                                \
    MUSUBI_OMP_ENTRY();                                                                                     \
    const auto changed = compare_exchange(target, expected, desired);                                       \
    *after = changed.after;                                                                                 \
    return changed.before;                                                                                  \
  }
#include "omp/kmp/atomics.def"

// Of any type with so many bytes.
#define MUSUBI_GENERIC(bytes, call)                                                           \
  MUSUBI_EXPORT void __kmpc_atomic_##bytes(Place*, GlobalThread, void* target, void* operand, \
                                           GenericOperation operation) {                      \
    MUSUBI_OMP_ENTRY();                                                                       \
    call(target, operand, operation);                                                         \
  }
MUSUBI_GENERIC(1, generic<fixed1>)
MUSUBI_GENERIC(2, generic<fixed2>)
MUSUBI_GENERIC(4, generic<fixed4>)
MUSUBI_GENERIC(8, generic<fixed8>)
MUSUBI_GENERIC(10, generic_in_region)
MUSUBI_GENERIC(16, generic_in_region)
MUSUBI_GENERIC(20, generic_in_region)
MUSUBI_GENERIC(32, generic_in_region)

MUSUBI_EXPORT void __kmpc_atomic_start() {
  MUSUBI_OMP_ENTRY();
  atomic_begin();
}
MUSUBI_EXPORT void __kmpc_atomic_end() {
  MUSUBI_OMP_ENTRY();
  atomic_end();
}

}  // extern "C"
