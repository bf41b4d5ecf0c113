#include "c_api/reductions.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "musubi/musubi.h"

namespace musubi::c_api {
namespace {

// Integers wrap around, including signed ones.
template <class T>
T apply(int operation, T a, T b) {
  using Whole = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>;
  using U = typename Whole::type;
  switch (operation) {
    case MUSUBI_SUM:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case MUSUBI_PROD:
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case MUSUBI_MIN:
      return std::min(a, b);
    case MUSUBI_MAX:
      return std::max(a, b);
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (operation == MUSUBI_AND) return a & b;
    if (operation == MUSUBI_OR) return a | b;
    if (operation == MUSUBI_XOR) return a ^ b;
  }
  return a;
}

template <class T>
void combine_as(int operation, std::size_t count, std::byte* into, const std::byte* from) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    const T result = apply(operation, a, b);
    std::memcpy(into + i * sizeof(T), &result, sizeof(T));
  }
}

bool is_floating(int type) {
  return type == MUSUBI_FLOAT || type == MUSUBI_DOUBLE;
}

}  // namespace

std::size_t bytes_of_type(int type) noexcept {
  switch (type) {
    case MUSUBI_INT32:
    case MUSUBI_UINT32:
    case MUSUBI_FLOAT:
      return 4;
    case MUSUBI_INT64:
    case MUSUBI_UINT64:
    case MUSUBI_DOUBLE:
      return 8;
    default:
      return 0;
  }
}

bool is_operation(int type, int operation) noexcept {
  if (bytes_of_type(type) == 0 || operation < MUSUBI_SUM || operation > MUSUBI_XOR) return false;
  return !is_floating(type) || operation <= MUSUBI_MAX;
}

void combine(int type, int operation, std::size_t count, std::byte* into, const std::byte* from) noexcept {
  switch (type) {
    case MUSUBI_INT32:
      return combine_as<std::int32_t>(operation, count, into, from);
    case MUSUBI_UINT32:
      return combine_as<std::uint32_t>(operation, count, into, from);
    case MUSUBI_INT64:
      return combine_as<std::int64_t>(operation, count, into, from);
    case MUSUBI_UINT64:
      return combine_as<std::uint64_t>(operation, count, into, from);
    case MUSUBI_FLOAT:
      return combine_as<float>(operation, count, into, from);
    default:
      return combine_as<double>(operation, count, into, from);
  }
}

}  // namespace musubi::c_api
