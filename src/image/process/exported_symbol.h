// Looking a name up in one library, without the dynamic linker's order of search.
#pragma once

#include <link.h>

namespace musubi::image {

// The address of the symbol of that name that `object` defines for others, or null. Versions are not looked
// at, and an indirect function is not asked. Allocates nothing.
void* exported_address(const link_map& object, const char* name);

}  // namespace musubi::image
