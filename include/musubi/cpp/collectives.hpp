// Part of musubi.hpp: small values that all ranks agree on. All functions are collective and block. They
// order nothing in shared memory, except broadcast() of a pointer. Throw error (MUSUBI_ERROR_STATE,
// MUSUBI_ERROR_ARGUMENT).
//
//     const double error = musubi::allreduce(own_error, musubi::operation::max);
//     const int steps = musubi::broadcast(musubi::rank() == 0 ? read_steps() : 0);
#pragma once

#include <musubi/collectives.h>
#include <musubi/cpp/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace musubi {

enum class operation : int {
  sum = MUSUBI_SUM,
  product = MUSUBI_PROD,
  min = MUSUBI_MIN,
  max = MUSUBI_MAX,
  bit_and = MUSUBI_AND,
  bit_or = MUSUBI_OR,
  bit_xor = MUSUBI_XOR
};

// The number of a value type: any integer of 4 or 8 bytes, float, double.
template <class T>
constexpr int value_type() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> ||
                    (std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)),
                "values are integers of 4 or 8 bytes, float or double");
  if constexpr (std::is_same_v<T, float>) return MUSUBI_FLOAT;
  if constexpr (std::is_same_v<T, double>) return MUSUBI_DOUBLE;
  if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? MUSUBI_INT32 : MUSUBI_UINT32;
  return std::is_signed_v<T> ? MUSUBI_INT64 : MUSUBI_UINT64;
}

// Each element becomes the reduction of the elements of all ranks, in rank order: on all ranks, or on
// `root`.
template <class T, std::size_t extent>
void allreduce(std::span<T, extent> values, operation how) {
  require(musubi_allreduce(values.data(), values.size(), value_type<T>(), static_cast<int>(how)));
}
template <class T, std::size_t extent>
void reduce(std::span<T, extent> values, operation how, int root) {
  require(musubi_reduce(values.data(), values.size(), value_type<T>(), static_cast<int>(how), root));
}
// The same for one value. Result: the reduction.
template <class T>
T allreduce(T value, operation how) {
  allreduce(std::span<T>(&value, 1), how);
  return value;
}

// The array, or the value, of rank `root`, copied byte by byte.
template <class T, std::size_t extent>
void broadcast_values(std::span<T, extent> values, int root) {
  static_assert(std::is_trivially_copyable_v<T>, "values travel as bytes");
  require(musubi_broadcast_values(values.data(), values.size_bytes(), root));
}
template <class T>
  requires(!std::is_pointer_v<T>)
T broadcast(T value, int root = 0) {
  broadcast_values(std::span<T>(&value, 1), root);
  return value;
}
// The pointer of rank 0, with a barrier: the object is visible afterwards.
template <class T>
T* broadcast(T* pointer) {
  void* bytes = const_cast<std::remove_cv_t<T>*>(pointer);
  require(musubi_broadcast(&bytes));
  return static_cast<T*>(bytes);
}

}  // namespace musubi
