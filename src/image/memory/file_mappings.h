// File mappings of the program that no rank writes to on its own: every rank maps the same file at the same
// address. With MAP_SHARED the kernel's page cache is the common memory; read-only MAP_PRIVATE shows the same
// bytes everywhere. Every rank applies a change of a mapping before the call returns.
//
// Also: mappings that only this process can have (devices, stacks), at addresses that no other rank uses.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "image/memory/map_request.h"
#include "image/memory/mapped_areas.h"
#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

// Results and errno as in section 2 of the manual. All ranges are whole pages. Any thread of the program; not
// from a signal handler.
class FileMappings {
 public:
  // Every rank makes its own before the job's first barrier.
  explicit FileMappings(runtime::Runtime& runtime);

  // Maps at request.wanted with MAP_FIXED or MAP_FIXED_NOREPLACE, otherwise at a free address. `alignment`: a
  // power of two.
  void* map(const MapRequest& request, std::size_t alignment) noexcept;
  // Only in this process.
  void* map_here(const MapRequest& request) noexcept;

  // shmat(2), at one address everywhere, and shmdt(2) for a segment that covers() finds.
  void* attach(int segment, const void* wanted, int flags) noexcept;
  int detach(const void* address) noexcept;

  // Whether one of our mappings is at `address`.
  bool covers(const void* address) const noexcept { return areas_.at(address).has_value(); }
  // REQUIRES for the following: the range begins in one of our mappings.
  int unmap(void* address, std::size_t bytes) noexcept;
  void* remap(void* address, std::size_t old_bytes, std::size_t new_bytes, bool may_move) noexcept;
  int protect(void* address, std::size_t bytes, int protection) noexcept;

 private:
  using Area = MappedAreas::Area;
  using Reach = MappedAreas::Reach;
  // A change that every rank applies.
  struct Order {
    enum class Kind : std::uint64_t { map, unmap, remap, protect, reuse, attach, detach } kind;
    std::uintptr_t address;
    std::size_t bytes;
    std::uintptr_t new_address;  // remap
    std::size_t new_bytes;
    int protection;
    int flags;
    off_t offset;
    pid_t process;  // the process that has the file open
    int file;       // attach: the segment
    int access;     // O_RDONLY, ...
  };

  // Results: 0 or a negative error number. The first is for another rank, on a thread of the runtime.
  int apply(const Order& order) noexcept;
  int carry_out(const Order& order, int file) noexcept;
  int order_others(const Order& order) noexcept;
  int order_all(const Order& order, Reach reach) noexcept;
  void reuse(std::uintptr_t address, std::size_t bytes) noexcept;

  AddressSlice slice_;
  MappedAreas areas_;
  OwnerCalls<&FileMappings::apply> calls_;
};

}  // namespace musubi::image
