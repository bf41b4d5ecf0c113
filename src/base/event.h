// Event: set once by any thread, awaited by at most one task. Gate: a first-come first-served lock for tasks.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <optional>

#include "base/spin_lock.h"

namespace musubi {

// Resumes suspended tasks. In production one executor drives the tasks of one thread; in the simulator one
// executor drives a simulated node in virtual time. A task always runs on the executor on which it was
// started.
class Executor {
 public:
  virtual ~Executor() = default;

  // Resumes `task` soon, on the executor's own thread. May be called from any thread; never blocks.
  virtual void ready(std::coroutine_handle<> task) noexcept = 0;

  // Resumes `task` after a pause that grows with `attempt` (0, 1, 2, …): for retries after "busy" or after a
  // concurrent change. Called on the executor's own thread only.
  virtual void ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept = 0;
};

class Event {
 public:
  // Any thread. The waiter may destroy the event as soon as it is resumed; set() touches nothing after that.
  void set() noexcept {
    Waiter* waiter = state_.exchange(set_mark(), std::memory_order_acq_rel);
    if (waiter != nullptr && waiter != set_mark()) waiter->executor->ready(waiter->task);
  }
  bool is_set() const noexcept { return state_.load(std::memory_order_acquire) == set_mark(); }
  // REQUIRES: no task waits.
  void reset() noexcept { state_.store(nullptr, std::memory_order_relaxed); }

  auto operator co_await() noexcept { return Awaiter{*this, {}}; }

 private:
  struct Waiter {
    Executor* executor;
    std::coroutine_handle<> task;
  };
  struct Awaiter {
    Event& event;
    Waiter waiter;

    bool await_ready() const noexcept { return event.is_set(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> task) noexcept {
      waiter = Waiter{&task.promise().executor(), task};
      Waiter* expected = nullptr;
      return event.state_.compare_exchange_strong(expected, &waiter, std::memory_order_acq_rel);
    }
    void await_resume() const noexcept {}
  };
  static Waiter* set_mark() noexcept { return reinterpret_cast<Waiter*>(std::uintptr_t{1}); }

  std::atomic<Waiter*> state_{nullptr};
};

class Gate {
 public:
  // Held until destroyed.
  class [[nodiscard]] Pass {
   public:
    explicit Pass(Gate& gate) noexcept : gate_(&gate) {}
    Pass(Pass&& other) noexcept : gate_(other.gate_) { other.gate_ = nullptr; }
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) gate_->leave();
    }

   private:
    Gate* gate_;
  };

  // Whether it was free a moment ago.
  bool looks_free() noexcept {
    lock_.lock();
    const bool free = !held_;
    lock_.unlock();
    return free;
  }

  // A Pass, or none while another task holds the gate.
  std::optional<Pass> try_enter() noexcept {
    lock_.lock();
    const bool free = !held_;
    held_ = true;
    lock_.unlock();
    if (!free) return std::nullopt;
    return Pass{*this};
  }

  // co_await gate.enter() gives a Pass, in order of arrival.
  struct Awaiter;
  Awaiter enter() noexcept { return Awaiter{*this, nullptr, {}, nullptr}; }

  struct Awaiter {
    Gate& gate;
    Executor* executor;
    std::coroutine_handle<> task;
    Awaiter* next;

    bool await_ready() noexcept {
      gate.lock_.lock();
      const bool free = !gate.held_;
      gate.held_ = true;
      gate.lock_.unlock();
      return free;
    }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
      executor = &waiting.promise().executor();
      task = waiting;
      gate.lock_.lock();
      if (!gate.held_) {  // freed between the two checks
        gate.held_ = true;
        gate.lock_.unlock();
        return false;
      }
      (gate.last_ != nullptr ? gate.last_->next : gate.first_) = this;
      gate.last_ = this;
      gate.lock_.unlock();
      return true;
    }
    Pass await_resume() const noexcept { return Pass{gate}; }
  };

 private:
  void leave() noexcept {
    lock_.lock();
    Awaiter* next = first_;
    if (next == nullptr) {
      held_ = false;
    } else {  // hand over: held_ stays true
      first_ = next->next;
      if (first_ == nullptr) last_ = nullptr;
    }
    lock_.unlock();
    if (next != nullptr) next->executor->ready(next->task);
  }

  SpinLock lock_;
  bool held_ MUSUBI_GUARDED_BY(lock_) = false;
  Awaiter* first_ MUSUBI_GUARDED_BY(lock_) = nullptr;
  Awaiter* last_ MUSUBI_GUARDED_BY(lock_) = nullptr;
};

}  // namespace musubi
