#include "omp/shared_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "omp/job.h"

namespace musubi::omp {
namespace {

void* allocate_by_libc(std::size_t alignment, std::size_t bytes) {
  void* address = nullptr;
  return posix_memalign(&address, std::max(alignment, sizeof(void*)), bytes) == 0 ? address : nullptr;
}

// Set once at start; global because the OpenMP interfaces carry no handle.
SharedAllocator shared_allocator{&allocate_by_libc, &::free};

}  // namespace

void set_shared_allocator(const SharedAllocator& allocator) {
  shared_allocator = allocator;
}

void* allocate_shared(std::size_t alignment, std::size_t bytes) {
  return shared_allocator.allocate(alignment, bytes);
}

void* allocate_shared_zeroed(std::size_t alignment, std::size_t bytes) {
  void* address = allocate_shared(alignment, bytes);
  if (address == nullptr) {
    end_job(Job::require("a reduction over tasks").runtime,
            "no shared memory for an OpenMP construct: raise MUSUBI_HEAP_BYTES");
  }
  std::memset(address, 0, bytes);
  return address;
}

void free_shared(void* address) {
  shared_allocator.free(address);
}

void* private_pages(std::size_t bytes) {
  void* pages =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MUSUBI_CHECK(pages != MAP_FAILED, "no memory for %zu bytes", bytes);
  return pages;
}

}  // namespace musubi::omp
