// The library that contains the caller.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include "image/start/job.h"

namespace musubi::image {

// Whether the caller is in a private library, such as a driver or the C++ library. Signal-safe.
inline bool is_in_private_library(const Job& job, const void* caller) noexcept {
  dl_find_object found;
  return ::_dl_find_object(const_cast<void*>(caller), &found) == 0 &&
         job.choice.is_named_private(found.dlfo_link_map->l_name);
}

}  // namespace musubi::image
