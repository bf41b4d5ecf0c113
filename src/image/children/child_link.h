// Messages between a child made by fork and the parent's thread that waits for it: words in a page that both
// map, independent of the files that the child closes.
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

// State of the thread that called fork; the child continues as this thread.
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
    usable_bytes,  // size of the allocation at `address`
  };
  enum class Event : std::uint8_t { question, ended, nothing };

  // In memory of its own. Errors: out of memory.
  static Result<ChildLink*> make();
  // Parent: any child gets no further answers.
  void drop() noexcept;

  CallerState caller;
  // The result of fork, passed to the calling thread through this page, which holds no locks of the C
  // library.
  pid_t child = -1;
  int error = 0;
  std::atomic<bool> tries_exec{false};  // the child has called exec

  // Child, before anything else, on the thread that stays: from now on the parent notices when the child
  // calls exec or ends in any way.
  void enter() noexcept;
  // Child. False if the parent no longer answers. Signal-safe.
  bool ask(Question question, std::uintptr_t address, std::size_t bytes, std::uint64_t& answer) noexcept;

  // Parent: waits for an event of the child, at most `time`.
  Event wait(std::chrono::nanoseconds time) noexcept;
  Question question() const noexcept { return question_; }
  std::uintptr_t address() const noexcept { return address_; }
  std::size_t bytes() const noexcept { return bytes_; }
  void answer(std::uint64_t value) noexcept;

 private:
  enum Answered : std::uint32_t { not_yet, answered, never };

  // The robust futex list: the kernel marks its locks when the process ends or calls exec. `alive_` is such a
  // lock.
  robust_list_head held_;
  robust_list entry_;
  std::atomic<std::uint32_t> alive_;   // id of the child's thread, FUTEX_WAITERS while the parent sleeps
  std::atomic<std::uint32_t> asking_;  // id of the process that asks: the child or one of its own children
  std::atomic<std::uint32_t> answered_;
  std::atomic<bool> closed_;
  pid_t parent_;
  Question question_;
  std::uintptr_t address_;
  std::size_t bytes_;
  std::uint64_t answer_;
};

}  // namespace musubi::image
