// Objects that belong to this process alone and live until it ends. They must not come from malloc, which may
// be the heap that all ranks share: the threads of a rank sleep on words in them, and the runtime uses them
// under its locks.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace musubi::omp {

// Fresh zero pages, never freed; ends the process if there are none.
void* private_pages(std::size_t bytes);

template <class T, class... Arguments>
T* make_private(Arguments&&... arguments) {
  static_assert(alignof(T) <= 4096);
  return new (private_pages(sizeof(T))) T(std::forward<Arguments>(arguments)...);
}

}  // namespace musubi::omp
