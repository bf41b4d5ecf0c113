// The strings that the kernel put above the initial stack: private memory, whose addresses a program passes
// on.
#pragma once

namespace musubi::image {

// A copy of a list that ends with null (argv, environ), list and strings, in this rank's part of the shared
// heap. Ends the job when the heap is full.
char** copy_strings(char* const* strings);

}  // namespace musubi::image
