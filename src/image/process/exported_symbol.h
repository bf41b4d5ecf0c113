// Looks a name up in one library, without the dynamic linker's search order.
#pragma once

#include <link.h>

namespace musubi::image {

// The address of the symbol of that name that `object` exports, or null. Ignores versions and does not call
// the resolver of an indirect function. Allocates nothing.
void* exported_address(const link_map& object, const char* name);

}  // namespace musubi::image
