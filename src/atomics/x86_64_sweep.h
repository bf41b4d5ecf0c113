// A linear walk over machine code that reports its atomic instructions.
#pragma once

#include <cstddef>
#include <functional>

#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

struct Sweep {
  std::size_t instructions = 0;
  std::size_t unsupported = 0;        // atomic, but of a form that cannot be emulated
  std::size_t undecodable_bytes = 0;  // data between the code, most likely; the walk goes on at the next byte
};

// Calls `found(offset, instruction)` in ascending order. May be given any bytes.
Sweep sweep(const void* code, std::size_t bytes,
            const std::function<void(std::size_t, const Instruction&)>& found);

}  // namespace musubi::atomics::x86_64
