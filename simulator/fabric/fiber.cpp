#include "simulator/fabric/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace musubi::fabric::sim {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024;

// With an inaccessible page below it.
std::byte* new_stack() {
  const auto guard = static_cast<std::size_t>(::getpagesize());
  void* memory = ::mmap(nullptr, stack_bytes + guard, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MUSUBI_CHECK(memory != MAP_FAILED && ::mprotect(memory, guard, PROT_NONE) == 0, "no memory for a stack");
  return static_cast<std::byte*>(memory) + guard;
}

}  // namespace

Fiber::Fiber() {
#if defined(__SANITIZE_THREAD__)
  sanitizer_state_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(Body body, void* argument)
    : stack_(new_stack()), body_(body), argument_(argument), bottom_(stack_), bytes_(stack_bytes) {
  MUSUBI_CHECK(::getcontext(&context_) == 0);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = stack_bytes;
  context_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::begin), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
#if defined(__SANITIZE_THREAD__)
  sanitizer_state_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  if (stack_ == nullptr) return;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack_, stack_bytes);  // frames that never return
#elif defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(sanitizer_state_);
#endif
  const auto guard = static_cast<std::size_t>(::getpagesize());
  ::munmap(stack_ - guard, stack_bytes + guard);
}

void Fiber::begin(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
  self->arrived();
  self->body_(self->argument_);
  MUSUBI_CHECK(false, "a fiber ended");
}

void Fiber::go_on_with(Fiber& next) noexcept {
  left(next);
  ::swapcontext(&context_, &next.context_);
  arrived();
}

void Fiber::left(Fiber& next) noexcept {
  next.came_from_ = this;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&sanitizer_state_, next.bottom_, next.bytes_);
#elif defined(__SANITIZE_THREAD__)
  // Ordered like one thread: earlier fibers happen before this one.
  __tsan_switch_to_fiber(next.sanitizer_state_, 0);
#endif
}

void Fiber::arrived() noexcept {
#if defined(__SANITIZE_ADDRESS__)
  // The bounds of the thread's own stack are known only after it has been left.
  __sanitizer_finish_switch_fiber(sanitizer_state_, &came_from_->bottom_, &came_from_->bytes_);
#endif
}

}  // namespace musubi::fabric::sim
