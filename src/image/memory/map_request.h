// The arguments of mmap(2) and the kind of memory that they ask for.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>

namespace musubi::image {

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

// Of this process alone: stacks, devices, and calls that the kernel will refuse.
enum class MapKind { anonymous, file, of_this_process };
MapKind kind_of(const MapRequest& request);

}  // namespace musubi::image
