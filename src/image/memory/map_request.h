// What a call of mmap(2) asks for.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>

namespace musubi::image {

// Arguments of mmap(2).
struct MapRequest {
  void* wanted;
  std::size_t bytes;
  int protection;
  int flags;
  int file;
  off_t offset;
};

inline bool is_fixed(const MapRequest& request) {
  return (request.flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
}
inline bool is_private(const MapRequest& request) {
  return (request.flags & MAP_TYPE) == MAP_PRIVATE;
}

// Stacks, devices and what the kernel will refuse are of this process alone.
enum class MapKind { anonymous, file, of_this_process };
MapKind kind_of(const MapRequest& request);

}  // namespace musubi::image
