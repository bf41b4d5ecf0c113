// Looking a name up in one library, without the dynamic linker's order of search.
#pragma once

#include <link.h>

namespace musubi::image {

// Whether `object` defines a symbol of that name for others. Versions are not looked at.
bool exports_symbol(const link_map& object, const char* name);

}  // namespace musubi::image
