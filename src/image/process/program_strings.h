// Copies of the strings that the kernel put above the initial stack: these are private memory, but a program
// passes their addresses on.
#pragma once

namespace musubi::image {

// A copy of a null-terminated list (argv, environ), list and strings, in this rank's part of the shared heap.
// Ends the job if the heap is full.
char** copy_strings(char* const* strings);

}  // namespace musubi::image
