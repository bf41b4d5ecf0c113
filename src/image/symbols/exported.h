// Macros for interposed functions. A definition in this folder replaces the C library's for the program, for
// its libraries, and for this library.
#pragma once

#define MUSUBI_EXPORT extern "C" __attribute__((visibility("default")))

// The call's return address, which tells the C library's own calls from the program's.
#define MUSUBI_CALLER __builtin_return_address(0)
