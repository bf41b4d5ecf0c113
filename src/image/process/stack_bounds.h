// The beginning of main's stack as the C library and the kernel report it: programs that measure their stack
// or search it for pointers ask there, and would get the initial thread's.
#pragma once

namespace musubi::image {

// Makes `end`, above all frames of the calling thread's program, the beginning of the stack in
// __libc_stack_end and, if the kernel permits, in /proc/self/stat. Once, by main's thread.
void tell_stack_of_main(void* end) noexcept;

// Restores the initial thread's value while this object exists: the dynamic linker reads it when a library
// asks for executable stacks.
class InitialStackTold {
 public:
  InitialStackTold() noexcept;
  ~InitialStackTold();
  InitialStackTold(const InitialStackTold&) = delete;
  InitialStackTold& operator=(const InitialStackTold&) = delete;
};

}  // namespace musubi::image
