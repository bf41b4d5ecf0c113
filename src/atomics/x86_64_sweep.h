// A linear walk over machine code.
#pragma once

#include <cstddef>
#include <functional>

#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

struct Sweep {
  std::size_t instructions = 0;
  std::size_t unsupported = 0;  // atomic, but of a form that cannot be emulated
};

// What the walk reports, each with its offset, ascending.
struct SweepEvents {
  std::function<void(std::size_t, const Instruction&)> atomic;
  std::function<void(std::size_t, std::size_t)> padding;  // a no-operation of several bytes, with its length
  // One byte that is not code: data, most likely. The walk goes on at the next.
  std::function<void(std::size_t)> undecodable;
};

// May be given any bytes.
Sweep sweep(const void* code, std::size_t bytes, const SweepEvents& events);

}  // namespace musubi::atomics::x86_64
