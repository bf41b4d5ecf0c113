// Binds the threads of a rank to processors of its own, invisibly to the program: a query for the mask of a
// bound thread returns the mask that the process was started with, and the program's processes and threads
// that such a thread starts get that mask.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>

namespace musubi::os {

// Binds the calling thread, and all threads that it creates later, to those of `processors` that the process
// may use; does nothing if there are none. At most once, before other threads call a function of this header.
void bind_process(std::span<const std::uint32_t> processors) noexcept;
// Registers the calling thread, which inherited its binding, for the queries below.
void note_bound_thread() noexcept;
// The calling thread, registered or not, is about to end before its process does.
void note_end_of_thread() noexcept;
// Whether the calling thread is registered, and its mask is still the binding.
bool has_binding() noexcept;
// Gives the calling thread the mask of the process.
void unbind_thread() noexcept;

// The mask of the process, if the thread's own mask is a binding. `thread`: 0 is the calling thread. Any
// thread.
std::optional<cpu_set_t> mask_instead_of_binding(pid_t thread) noexcept;
// The kernel's id of a bound thread.
std::optional<pid_t> id_of_bound(pthread_t thread) noexcept;
// The program has set the thread's mask, which is no binding any more. Any thread.
void forget_binding(pid_t thread) noexcept;

// Moves the calling thread to those of `processors` that the system allows it, for the program to see: its
// mask is no binding any more.
void move_thread(std::span<const std::uint32_t> processors) noexcept;

// During its lifetime the calling thread, if bound, has the mask of the process, for the processes that it
// starts. Signal-safe, and correct in a child made by vfork.
class Unbound {
 public:
  Unbound() noexcept;
  ~Unbound();
  Unbound(const Unbound&) = delete;
  Unbound& operator=(const Unbound&) = delete;

 private:
  const bool was_bound_;
};

}  // namespace musubi::os
