#include "vm/signal/alternate_stack.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <string>

#include "os/signal_frame.h"
#include "os/system_call.h"

namespace musubi::vm {
namespace {

// Per thread: a signal handler has no other way to find its thread's data.
thread_local AlternateStack* installed_here = nullptr;

constexpr std::size_t guard_bytes = 4096;

// The bare system call: the program's sigaltstack calls the runtime.
long set_alternate_stack(const stack_t& stack) {
  const long result = os::system_call(SYS_sigaltstack, os::as_argument(&stack));
  if (result < 0) errno = static_cast<int>(-result);
  return result;
}

}  // namespace

AlternateStack* AlternateStack::current() noexcept {
  return installed_here;
}

Result<void> AlternateStack::install(std::size_t bytes) {
  MUSUBI_CHECK(memory_ == nullptr && installed_here == nullptr, "this thread has an alternate stack already");
  void* memory = ::mmap(nullptr, guard_bytes + bytes + os::signal_return_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{std::string("no memory for a signal stack (") + ::strerror(errno) +
                 "); start fewer threads"};
  }
  memory_ = static_cast<std::byte*>(memory);
  low_ = reinterpret_cast<std::uintptr_t>(memory_) + guard_bytes;
  bytes_ = bytes;
  ::mprotect(memory_, guard_bytes, PROT_NONE);
  if (set_alternate_stack(as_installed()) != 0) {
    return Error{std::string("sigaltstack refused a stack of ") + std::to_string(bytes) + " bytes (" +
                 ::strerror(errno) + "); do not start the runtime inside a signal handler"};
  }
  installed_here = this;
  return {};
}

AlternateStack::~AlternateStack() {
  if (memory_ == nullptr) return;
  if (installed_here == this) {
    set_alternate_stack(stack_t{nullptr, SS_DISABLE, 0});
    installed_here = nullptr;
  }
  ::munmap(memory_, guard_bytes + bytes_ + os::signal_return_bytes);
}

}  // namespace musubi::vm
