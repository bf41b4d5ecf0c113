// A fixed-size array of zeros that takes memory only for pages that are touched: tables with one element per
// block of an address space of terabytes.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <type_traits>

#include "base/check.h"

namespace musubi {

template <class T>
class SparseArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit SparseArray(std::size_t count) : bytes_(count * sizeof(T) + 1), count_(count) {
    void* memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MUSUBI_CHECK(memory != MAP_FAILED, "no address space for a table of %zu bytes", bytes_);
    data_ = static_cast<T*>(memory);
  }
  SparseArray(const SparseArray&) = delete;
  SparseArray& operator=(const SparseArray&) = delete;
  ~SparseArray() { ::munmap(data_, bytes_); }

  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }

 private:
  std::size_t bytes_;
  std::size_t count_;
  T* data_ = nullptr;
};

}  // namespace musubi
