#include "image/memory/map_request.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace musubi::image {

MapKind kind_of(const MapRequest& request) {
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
