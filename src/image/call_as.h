// Calls a function of the dynamic linker as another caller: dlopen and dlsym look at their return address to
// find out whose search path and whose place in the order of symbols count.
#pragma once

namespace musubi::image {

using OpenFunction = void* (*)(const char* path, int flags);

// Calls `open` so that it sees a return address within the object whose code `caller` is.
void* open_as(const void* caller, OpenFunction open, const char* path, int flags);

// The same for dlsym, whose special handles mean what the caller sees.
using LookUp = void* (*)(void* handle, const char* name);
void* look_up_as(const void* caller, LookUp look_up, void* handle, const char* name);

}  // namespace musubi::image
