// Calls a function as another caller. dlopen and dlsym look at their return address to find out whose search
// path and whose place in the order of symbols count. So do many wrappers of ours, to tell the program's
// calls.
#pragma once

#include <array>
#include <cstdint>

namespace musubi::image {

using OpenFunction = void* (*)(const char* path, int flags);

// Calls `open` so that it sees a return address within the object whose code `caller` is.
void* open_as(const void* caller, OpenFunction open, const char* path, int flags);

// The same for dlsym, whose special handles mean what the caller sees.
using LookUp = void* (*)(void* handle, const char* name);
void* look_up_as(const void* caller, LookUp look_up, void* handle, const char* name);

// Calls a function of the program as if its own object did: what it calls last, by a jump, returns there.
void call_from_its_object(const void* function, const std::array<std::uint64_t, 3>& arguments);

}  // namespace musubi::image
