// Functions of the C library that are needed before any constructor has run.
#pragma once

#include <atomic>

#include "image/process/real_function.h"

namespace musubi::image {

// The next definition after this library's, looked up at its first use. Any thread.
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
