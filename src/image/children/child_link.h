// Messages between a child made by fork and the parent's thread that waits for it: words in a page that both
// see, so that it does not matter which files the child closes.
#pragma once

#include <linux/futex.h>
#include <ucontext.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace musubi::image {

// The thread that called fork, for the child to go on as.
struct CallerState {
  ucontext_t context;
  std::uintptr_t thread_pointer;
  pid_t thread_id;
  stack_t signal_stack;
  std::uintptr_t stack_low;  // in use: [stack_low, stack_high); empty unless in shared memory
  std::uintptr_t stack_high;
};

class ChildLink {
 public:
  enum class Question : std::uint32_t {
    open,          // read a byte of each page of [address, address + bytes)
    usable_bytes,  // of the allocation at `address`
  };
  enum class Event : std::uint8_t { question, ended, nothing };

  // In memory of its own. Errors: no memory.
  static Result<ChildLink*> make();
  // Parent. The child, if there is one, gets no answer any more.
  void drop() noexcept;

  CallerState caller;
  // The memory holds no locks of the C library: what fork returned, for the thread that called it.
  pid_t child = -1;
  int error = 0;
  std::atomic<bool> tries_exec{false};  // the child has called exec

  // Child, first of all, on the thread that stays: from now on the parent notices when the child starts
  // another program or ends in any way.
  void enter() noexcept;
  // Child. False when the parent does not answer any more. Signal-safe.
  bool ask(Question question, std::uintptr_t address, std::size_t bytes, std::uint64_t& answer) noexcept;

  // Parent: waits for the child to do something, at most `time`.
  Event wait(std::chrono::nanoseconds time) noexcept;
  Question question() const noexcept { return question_; }
  std::uintptr_t address() const noexcept { return address_; }
  std::size_t bytes() const noexcept { return bytes_; }
  void answer(std::uint64_t value) noexcept;

 private:
  enum Answered : std::uint32_t { not_yet, answered, never };

  // The kernel's list of locks that a process holds: it marks them when the process ends or becomes another
  // program. `alive_` is such a lock.
  robust_list_head held_;
  robust_list entry_;
  std::atomic<std::uint32_t> alive_;   // id of the child's thread, FUTEX_WAITERS while the parent sleeps
  std::atomic<std::uint32_t> asking_;  // id of the process that asks: children of the child may, too
  std::atomic<std::uint32_t> answered_;
  std::atomic<bool> closed_;
  pid_t parent_;
  Question question_;
  std::uintptr_t address_;
  std::size_t bytes_;
  std::uint64_t answer_;
};

}  // namespace musubi::image
