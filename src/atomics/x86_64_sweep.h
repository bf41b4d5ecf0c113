// A linear walk over machine code.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

struct Sweep {
  std::size_t instructions = 0;
  std::size_t unsupported = 0;  // atomic, but of a form that cannot be emulated
};

// The starts of a walk's last instructions.
class Recent {
 public:
  static constexpr std::size_t kept = 64;

  void add(std::size_t at) { starts_[count_++ % kept] = at; }
  std::size_t count() const { return count_ < kept ? count_ : kept; }
  // The one before the last `back` ones. REQUIRES: back < count().
  std::size_t before(std::size_t back) const { return starts_[(count_ - 1 - back) % kept]; }

 private:
  std::array<std::size_t, kept> starts_{};
  std::size_t count_ = 0;
};

// The events of the walk, each with its offset, ascending.
struct SweepEvents {
  std::function<void(std::size_t, const Instruction&, const Recent& before)> atomic;
  std::function<void(std::size_t, std::size_t)> padding;  // a no-operation of several bytes, with its length
  // One byte that is not code, most likely data. The walk continues at the next byte.
  std::function<void(std::size_t)> undecodable;
};

// Accepts any bytes.
Sweep sweep(const void* code, std::size_t bytes, const SweepEvents& events);

}  // namespace musubi::atomics::x86_64
