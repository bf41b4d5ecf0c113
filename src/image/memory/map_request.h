// The arguments of mmap(2) and the kind of memory that they ask for.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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
inline MapKind kind_of(const MapRequest& request) {
  struct stat status {};
  const bool is_anonymous = (request.flags & MAP_ANONYMOUS) != 0;
  if ((request.flags & (MAP_STACK | MAP_GROWSDOWN)) != 0) return MapKind::of_this_process;
  if (is_anonymous) return MapKind::anonymous;
  if (::fstat(request.file, &status) != 0) return MapKind::of_this_process;  // the kernel reports the error
  if (S_ISREG(status.st_mode)) return MapKind::file;
  const bool is_zero_device = S_ISCHR(status.st_mode) && status.st_rdev == ::makedev(1, 5);
  return is_zero_device ? MapKind::anonymous : MapKind::of_this_process;
}

}  // namespace musubi::image
