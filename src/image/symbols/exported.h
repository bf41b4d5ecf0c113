// Macros for interposed functions. A definition in this folder replaces the C library's for the program, for
// its libraries, and for this library.
#pragma once

#include <atomic>

#include "image/process/call_result.h"
#include "image/process/real_function.h"

#define MUSUBI_EXPORT extern "C" __attribute__((visibility("default")))

// Begins the definition of function `name` under a name of our own, which need not repeat the headers' exact
// declaration: attributes, other names of the types.
#define MUSUBI_WRAPPER(result, name, parameters)                 \
  MUSUBI_EXPORT result wrapped_##name parameters __asm__(#name); \
  result wrapped_##name parameters

// The call's return address, which tells the C library's own calls from the program's.
#define MUSUBI_CALLER __builtin_return_address(0)

namespace musubi::image {

// The next definition after this library's, the C library's, looked up at its first use: it may be needed
// before any constructor has run. Any thread.
template <class Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  Function get() noexcept {
    Function function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function>(next_definition(name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }

 private:
  const char* name_;
  std::atomic<Function> function_{nullptr};
};

}  // namespace musubi::image
