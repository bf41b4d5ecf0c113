// Binds the threads of a rank to processors of its own, unseen by the program: what asks for the mask of such
// a thread, and what such a thread starts, gets the mask that the process was started with.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>

namespace musubi::os {

// Binds the calling thread, and with it all that it makes from now on, to those of `processors` that the
// process may use; without any it does nothing. At most once, before other threads call anything here.
void bind_process(std::span<const std::uint32_t> processors) noexcept;
// The calling thread, which has its binding from the thread that made it, may be asked about from now on. It
// lives as long as the process.
void note_bound_thread() noexcept;
// Gives the calling thread the mask of the process.
void unbind_thread() noexcept;

// The mask of the process, for a thread whose own is a binding. `thread`: 0 is the calling one. Any thread.
std::optional<cpu_set_t> mask_instead_of_binding(pid_t thread) noexcept;
// The kernel's id of a thread that is bound.
std::optional<pid_t> id_of_bound(pthread_t thread) noexcept;
// The program has set the mask of the thread: that is no binding any more. Any thread.
void forget_binding(pid_t thread) noexcept;

// As long as it lives, a calling thread that is bound has the mask of the process, for what it starts.
// Signal-safe, and right in a child made by vfork.
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
