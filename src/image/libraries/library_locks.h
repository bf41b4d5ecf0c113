// Mutexes in the data of libstdc++, which is private to each rank. They guard data of the program: shared
// pointers that threads exchange, the iterators of a container in debug mode, locales. They are therefore
// locks of the job, identified by their addresses, which are the same on all ranks.
#pragma once

#include <link.h>

#include <atomic>
#include <cstdint>

namespace musubi::image {

class LibraryLocks {
 public:
  // Notes the range of `object`, whose data is private, if it is such a library. Each rank does so for the
  // objects that it has loaded.
  void note(const link_map& object);
  // Any thread.
  bool contains(const void* mutex) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(mutex);
    return address - begin_.load(std::memory_order_acquire) < bytes_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uintptr_t> begin_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace musubi::image
