// A fixed number of zeros on cache lines of their own. What is not touched costs no memory where there is
// much of it: a simulated job of thousands of nodes has a table of all blocks at each. From malloc's family,
// so that sanitizers see its ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "base/check.h"

namespace musubi::sim {

template <class T>
class ZeroArray {
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr std::size_t alignment = 64;

 public:
  explicit ZeroArray(std::size_t count)
      : count_(count), memory_(std::calloc(1, count * sizeof(T) + alignment)) {
    MUSUBI_CHECK(memory_ != nullptr, "no memory for %zu elements", count);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_);
    data_ = reinterpret_cast<T*>((address + alignment - 1) / alignment * alignment);
  }
  ZeroArray(const ZeroArray&) = delete;
  ZeroArray& operator=(const ZeroArray&) = delete;
  ~ZeroArray() { std::free(memory_); }

  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* data() { return data_; }
  std::size_t size() const { return count_; }

 private:
  std::size_t count_;
  void* memory_;
  T* data_;
};

}  // namespace musubi::sim
