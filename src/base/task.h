// Task<T>: a lazily started coroutine. Protocol code is written as tasks over the ports; production drives a
// task to its end on the calling thread, the simulator interleaves thousands of tasks.
//
// Rules, for gcc 12 and for signal handlers: named functions or member functions only, no lambda coroutines;
// no reference parameter bound to a temporary; no co_await inside a conditional expression or a catch; at
// most about three tasks deep. A Task is awaited at most once, on the executor of the awaiting task.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/event.h"
#include "base/frame_pool.h"

namespace musubi {

// Each task has its executor, the task that awaits it, and an observer if no task does.
class PromiseBase {
 public:
  // Told once, when a root task (one that no task awaits) has ended.
  class Observer {
   public:
    virtual void task_ended() noexcept = 0;

   protected:
    ~Observer() = default;
  };

  static void* operator new(std::size_t bytes) { return frame_allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) { frame_free(frame, bytes); }

  Executor& executor() const noexcept { return *executor_; }
  void set_executor(Executor& executor) noexcept { executor_ = &executor; }
  void set_continuation(std::coroutine_handle<> waiting) noexcept { continuation_ = waiting; }
  void set_observer(Observer* observer) noexcept { observer_ = observer; }

  std::suspend_always initial_suspend() noexcept { return {}; }
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      PromiseBase& promise = ended.promise();
      if (promise.continuation_) return promise.continuation_;
      if (promise.observer_ != nullptr) promise.observer_->task_ended();
      return std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }

 private:
  Executor* executor_ = nullptr;
  std::coroutine_handle<> continuation_;
  Observer* observer_ = nullptr;
};

template <class T>
class TaskPromise;

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Starts a root task on `executor`; returns when it first suspends or ends. `observer` may be null.
  void start(Executor& executor, PromiseBase::Observer* observer) {
    handle_.promise().set_executor(executor);
    handle_.promise().set_observer(observer);
    handle_.resume();
  }
  bool done() const noexcept { return handle_.done(); }
  // REQUIRES: done().
  decltype(auto) result() { return handle_.promise().result(); }

  struct Awaiter {
    Handle child;

    bool await_ready() const noexcept { return false; }
    // Runs the child at once; suspends the parent only if the child did not finish. (Plain resumption instead
    // of symmetric transfer: a loop of children that finish at once must not grow the stack at -O0.)
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> parent) {
      child.promise().set_executor(parent.promise().executor());
      child.resume();
      if (child.done()) return false;
      child.promise().set_continuation(parent);
      return true;
    }
    decltype(auto) await_resume() { return child.promise().result(); }
  };
  Awaiter operator co_await() && noexcept { return Awaiter{handle_}; }

 private:
  Handle handle_;
};

template <class T>
class TaskPromise : public PromiseBase {
 public:
  Task<T> get_return_object() noexcept {
    return Task<T>{std::coroutine_handle<TaskPromise>::from_promise(*this)};
  }
  void return_value(T value) { value_.emplace(std::move(value)); }
  T result() { return std::move(*value_); }

 private:
  std::optional<T> value_;
};

template <>
class TaskPromise<void> : public PromiseBase {
 public:
  Task<void> get_return_object() noexcept {
    return Task<void>{std::coroutine_handle<TaskPromise>::from_promise(*this)};
  }
  void return_void() noexcept {}
  void result() noexcept {}
};

// co_await pause(attempt): lets other tasks run, longer with each attempt.
struct Pause {
  unsigned attempt;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> task) const {
    task.promise().executor().ready_after_pause(task, attempt);
  }
  void await_resume() const noexcept {}
};
inline Pause pause(unsigned attempt) {
  return Pause{attempt};
}

// co_await this_executor(): the executor on which the awaiting task runs.
struct ThisExecutor {
  Executor* executor = nullptr;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> task) noexcept {
    executor = &task.promise().executor();
    return false;
  }
  Executor& await_resume() const noexcept { return *executor; }
};
inline ThisExecutor this_executor() {
  return {};
}

}  // namespace musubi
