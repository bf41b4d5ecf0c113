// Where main's stack begins, as the C library and the kernel say it: programs that measure their stack or
// search it for pointers ask there, and would find the initial thread's.
#pragma once

namespace musubi::image {

// Makes `end`, above all frames of the calling thread's program, the beginning of the stack in
// __libc_stack_end and, where the kernel allows it, in /proc/self/stat. Once, by the thread of main.
void tell_stack_of_main(void* end) noexcept;

// The initial thread's beginning while this lives: the dynamic linker looks for it when a library wants code
// on stacks.
class InitialStackTold {
 public:
  InitialStackTold() noexcept;
  ~InitialStackTold();
  InitialStackTold(const InitialStackTold&) = delete;
  InitialStackTold& operator=(const InitialStackTold&) = delete;
};

}  // namespace musubi::image
