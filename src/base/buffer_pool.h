// Buffers of one size for fetched bytes whose destination is in use. The fault path takes and returns them:
// no malloc, a buffer is mapped once and kept.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "base/check.h"
#include "base/spin_lock.h"

namespace musubi {

class BufferPool {
 public:
  explicit BufferPool(std::size_t buffer_bytes)
      : bytes_(buffer_bytes < sizeof(Free) ? sizeof(Free) : buffer_bytes) {}
  BufferPool(const BufferPool&) = delete;
  ~BufferPool() {
    while (free_ != nullptr) {
      Free* next = free_->next;
      ::munmap(free_, bytes_);
      free_ = next;
    }
  }

  class [[nodiscard]] Buffer {
   public:
    explicit Buffer(BufferPool& pool) : pool_(pool), data_(pool.take()) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { pool_.give_back(data_); }
    std::byte* data() const { return data_; }

   private:
    BufferPool& pool_;
    std::byte* data_;
  };

 private:
  struct Free {
    Free* next;
  };

  std::byte* take() {
    lock_.lock();
    Free* buffer = free_;
    if (buffer != nullptr) free_ = buffer->next;
    lock_.unlock();
    if (buffer != nullptr) return reinterpret_cast<std::byte*>(buffer);
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUSUBI_CHECK(memory != MAP_FAILED, "no memory for a buffer");
    return static_cast<std::byte*>(memory);
  }
  void give_back(std::byte* data) {
    auto* buffer = reinterpret_cast<Free*>(data);
    lock_.lock();
    buffer->next = free_;
    free_ = buffer;
    lock_.unlock();
  }

  SpinLock lock_;
  std::size_t bytes_;
  Free* free_ MUSUBI_GUARDED_BY(lock_) = nullptr;
};

}  // namespace musubi
