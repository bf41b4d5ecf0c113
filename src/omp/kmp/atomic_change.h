// Atomic operations on memory that all ranks share, from functions of the old value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/atomic_operation.h"
#include "omp/job.h"
#include "omp/locks.h"
#include "omp/open_singles.h"

namespace musubi::omp::kmp {

// Whether a processor changes a T by one instruction; larger ones change under the lock of all atomics.
template <class T>
inline constexpr bool is_word = sizeof(T) <= sizeof(std::uint64_t) && std::has_single_bit(sizeof(T));

class AtomicRegion {
 public:
  AtomicRegion() { atomic_begin(); }
  ~AtomicRegion() { atomic_end(); }
  AtomicRegion(const AtomicRegion&) = delete;
  AtomicRegion& operator=(const AtomicRegion&) = delete;
};

// Result: the old bytes.
inline std::uint64_t execute(void* target, AtomicOperation operation) {
  Job* const job = Job::current();
  operation.order = AtomicOrder::meeting;
  const auto address = reinterpret_cast<std::uintptr_t>(target);
  if (job == nullptr || job->ranks == 1 || !job->runtime.memory().is_shared(address))
    return static_cast<std::uint64_t>(modify_in_place(static_cast<std::byte*>(target), operation));
  settle_singles(Before::atomic);
  return static_cast<std::uint64_t>(job->runtime.synchronization().atomic(address, operation));
}

template <class T>
std::uint64_t bits_of(const T& value) {
  static_assert(is_word<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T value_of(std::uint64_t bits) {
  static_assert(is_word<T>);
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
struct Change {
  T before;
  T after;
};

// Replaces the target's value by next(value).
template <class T, class Next>
Change<T> change(T* target, Next next) {
  if constexpr (is_word<T>) {
    T before;
    std::memcpy(&before, target, sizeof before);  // a guess
    while (true) {
      const T after = next(before);
      const std::uint64_t wanted = bits_of(before);
      const std::uint64_t seen =
          execute(target, {AtomicOperation::Kind::compare_exchange, sizeof(T), bits_of(after), wanted});
      if (seen == wanted) return {before, after};
      before = value_of<T>(seen);
    }
  } else {
    const AtomicRegion region;
    const T before = *target;
    return {before, *target = next(before)};
  }
}

}  // namespace musubi::omp::kmp
