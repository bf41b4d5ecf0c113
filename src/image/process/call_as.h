// Calls a function as if from another caller. dlopen and dlsym use their return address to choose the search
// path and the position in the symbol order. Many of our wrappers use it, too, to recognise calls of the
// program.
#pragma once

#include <array>
#include <cstdint>

namespace musubi::image {

using OpenFunction = void* (*)(const char* path, int flags);

// Calls `open` so that it sees a return address in the object that contains the code address `caller`.
void* open_as(const void* caller, OpenFunction open, const char* path, int flags);

// The same for dlsym, whose special handles depend on the caller.
using LookUp = void* (*)(void* handle, const char* name);
void* look_up_as(const void* caller, LookUp look_up, void* handle, const char* name);

// Calls a function of the program as if from its own object: a call that the function ends with, as a jump,
// returns there.
void call_from_its_object(const void* function, const std::array<std::uint64_t, 3>& arguments);

}  // namespace musubi::image
