#include "omp/private_memory.h"

#include <sys/mman.h>

#include "base/check.h"

namespace musubi::omp {

void* private_pages(std::size_t bytes) {
  void* pages =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MUSUBI_CHECK(pages != MAP_FAILED, "no memory for %zu bytes", bytes);
  return pages;
}

}  // namespace musubi::omp
