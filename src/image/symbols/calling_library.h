// The library that a call comes from.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include "image/start/job.h"

namespace musubi::image {

// Whether it is one that each rank has for itself: a driver, the C++ library. Signal-safe.
inline bool is_in_private_library(const Job& job, const void* caller) noexcept {
  dl_find_object found;
  return ::_dl_find_object(const_cast<void*>(caller), &found) == 0 &&
         job.choice.is_named_private(found.dlfo_link_map->l_name);
}

}  // namespace musubi::image
