// A stack on which code can be stopped between any two instructions and continued later. One thread runs all
// fibers in turn.
#pragma once

#include <ucontext.h>

#include <cstddef>

namespace musubi::fabric::sim {

class Fiber {
 public:
  using Body = void (*)(void* argument);

  // The code that runs already, on the stack of the thread.
  Fiber();
  // A new fiber; `body` must not return.
  Fiber(Body body, void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Called on this fiber: stops it and continues `next`; returns when another fiber continues this one.
  void go_on_with(Fiber& next) noexcept;

 private:
  static void begin(unsigned high, unsigned low);
  void left(Fiber& next) noexcept;
  void arrived() noexcept;

  ucontext_t context_;
  std::byte* stack_ = nullptr;  // null: the stack of the thread
  Body body_ = nullptr;
  void* argument_ = nullptr;
  // For the sanitizers.
  [[maybe_unused]] void* sanitizer_state_ = nullptr;
  [[maybe_unused]] const void* bottom_ = nullptr;
  [[maybe_unused]] std::size_t bytes_ = 0;
  Fiber* came_from_ = nullptr;
};

}  // namespace musubi::fabric::sim
