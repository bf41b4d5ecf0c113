#include "runtime/threads/thread_executor.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/frame_pool.h"
#include "os/clock.h"
#include "os/cpu.h"
#include "runtime/threads/waiting.h"

namespace musubi::runtime {
namespace {

constinit thread_local ThreadExecutor* executor_of_thread = nullptr;

}  // namespace

// Result: whether the executor's thread waits. The task, and the executor with it, may be gone when this
// returns.
bool ThreadExecutor::append(std::coroutine_handle<> task) noexcept {
  auto* node = static_cast<Node*>(frame_allocate(sizeof(Node)));
  node->task = task;
  node->next = nullptr;
  lock_.lock();
  (last_ != nullptr ? last_->next : first_) = node;
  last_ = node;
  // The executor's thread tests any_ready_ after it has set waiting_: one of the two sees the other's store.
  any_ready_.store(true);
  const bool waits = waiting_.load();
  lock_.unlock();
  return waits;
}

ThreadExecutor& ThreadExecutor::of_this_thread(fabric::Fabric& fabric, trace::Counters& counters) noexcept {
  if (executor_of_thread == nullptr) {
    executor_of_thread = new (frame_allocate(sizeof(ThreadExecutor))) ThreadExecutor(fabric, counters);
  }
  return *executor_of_thread;
}

void ThreadExecutor::forget_this_thread() noexcept {
  ThreadExecutor* const executor = std::exchange(executor_of_thread, nullptr);
  if (executor == nullptr) return;
  executor->~ThreadExecutor();
  frame_free(executor, sizeof *executor);
}

void ThreadExecutor::ready(std::coroutine_handle<> task) noexcept {
  fabric::Fabric& fabric = fabric_;
  const std::atomic<bool>* const awaited = &any_ready_;
  if (append(task)) fabric.wake_waiter(awaited);
}

void ThreadExecutor::ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept {
  if (attempt > pause_attempt_) pause_attempt_ = attempt;
  append(task);
}

bool ThreadExecutor::resume_ready() noexcept {
  any_ready_.store(false);
  lock_.lock();
  Node* node = first_;
  first_ = last_ = nullptr;
  lock_.unlock();
  const bool any = node != nullptr;
  while (node != nullptr) {
    Node* next = node->next;
    const std::coroutine_handle<> task = node->task;
    frame_free(node, sizeof(Node));
    task.resume();
    node = next;
  }
  return any;
}

void ThreadExecutor::pause(unsigned attempt) noexcept {
  constexpr std::uint64_t first_sleep_ns = 5'000, longest_sleep_ns = 100'000;
  if (attempt < 4) {
    os::pause_instruction();
  } else if (pauses_ == Pauses::sleep) {
    os::sleep_ns(std::min(first_sleep_ns * (attempt - 3), longest_sleep_ns));
  } else if (attempt < 100 && yields_.allowed(1) != 0) {
    yields_.yield();
  } else {
    os::sleep_ns(longest_sleep_ns);
  }
}

void ThreadExecutor::poll() noexcept {
  const BlockedHandlers handlers;
  fabric_.progress();
  pause_attempt_ = 0;
  resume_ready();
}

void ThreadExecutor::drive() noexcept {
  if (pause_attempt_ != 0) {
    // Another thread must make progress first: the holder of a lock, the reader of a full mailbox.
    const unsigned attempt = pause_attempt_;
    pause_attempt_ = 0;
    fabric_.progress();
    pause(attempt);
  }
  if (resume_ready()) return;
  if (fabric_.progress()) return;
  const std::uint64_t begin = os::monotonic_ns();
  const Waiting wait(Wait::peer);
  waiting_.store(true);
  fabric_.wait(any_ready_);
  waiting_.store(false);
  counters_.add(trace::Counter::waiting_ns, os::monotonic_ns() - begin);
}

}  // namespace musubi::runtime
