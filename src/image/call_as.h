// Calling a function of the dynamic linker as somebody else: dlopen looks at its return address to find out whose
// search path and whose place in the order of symbols count.
#pragma once

namespace musubi::image {

using OpenFunction = void* (*)(const char* path, int flags);

// Calls `open` so that it sees a return address within the object whose code `caller` is.
void* call_as(const void* caller, OpenFunction open, const char* path, int flags);

}  // namespace musubi::image
