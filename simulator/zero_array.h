// A fixed number of zeros on cache lines of their own. In a large array untouched zeros cost no memory: a
// simulated job of thousands of nodes has a table of all blocks at each. Small arrays come from malloc's
// family, so that sanitizers see their ends.
#pragma once

#include <sys/mman.h>

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
  static constexpr std::size_t small_bytes = 16 * 1024;

 public:
  explicit ZeroArray(std::size_t count) : count_(count), bytes_(count * sizeof(T) + alignment) {
    if (is_small()) {
      memory_ = std::calloc(1, bytes_);
    } else {
      // calloc would write zeros over freed memory.
      memory_ =
          ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    MUSUBI_CHECK(memory_ != nullptr && memory_ != MAP_FAILED, "no memory for %zu bytes", bytes_);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_);
    data_ = reinterpret_cast<T*>((address + alignment - 1) / alignment * alignment);
  }
  ZeroArray(const ZeroArray&) = delete;
  ZeroArray& operator=(const ZeroArray&) = delete;
  ~ZeroArray() {
    if (is_small()) {
      std::free(memory_);
    } else {
      ::munmap(memory_, bytes_);
    }
  }

  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }

 private:
  bool is_small() const { return bytes_ < small_bytes; }

  std::size_t count_;
  std::size_t bytes_;
  void* memory_ = nullptr;
  T* data_ = nullptr;
};

}  // namespace musubi::sim
