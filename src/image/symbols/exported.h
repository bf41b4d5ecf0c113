// What every interposed function needs. A definition in this folder takes the place of the C library's for
// the program, for its libraries, and for ourselves.
#pragma once

#define MUSUBI_EXPORT extern "C" __attribute__((visibility("default")))

// The place of the call, which tells the C library's own calls from the program's.
#define MUSUBI_CALLER __builtin_return_address(0)
