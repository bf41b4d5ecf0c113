// A stack of its own: what runs there can be stopped between any two instructions, and goes on later. One
// thread runs all of them in turn.
#pragma once

#include <ucontext.h>

#include <cstddef>

namespace musubi::fabric::sim {

class Fiber {
 public:
  using Body = void (*)(void* argument);

  // What runs already, on the stack of the thread.
  Fiber();
  // A new one; `body` must not return.
  Fiber(Body body, void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Called by what runs here. Stops it, and lets `next` go on; returns when somebody goes on here.
  void go_on_with(Fiber& next) noexcept;

 private:
  static void begin(unsigned high, unsigned low);
  void left(Fiber& next) noexcept;
  void arrived() noexcept;

  ucontext_t context_;
  std::byte* stack_ = nullptr;  // null: that of the thread
  Body body_ = nullptr;
  void* argument_ = nullptr;
  // What the sanitizers are told.
  [[maybe_unused]] void* sanitizer_state_ = nullptr;
  [[maybe_unused]] const void* bottom_ = nullptr;
  [[maybe_unused]] std::size_t bytes_ = 0;
  Fiber* came_from_ = nullptr;
};

}  // namespace musubi::fabric::sim
