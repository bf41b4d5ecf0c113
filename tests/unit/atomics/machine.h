// Runs a piece of machine code with the given registers, and returns all registers afterwards.
#pragma once

#include <cstdint>

namespace musubi::atomics {

struct Machine {
  std::uint64_t general[16];  // rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15
  std::uint64_t flags;
  std::uint64_t code;
  std::uint64_t own_stack;  // stack of the caller, while the code runs
  std::uint32_t vector_mask_low, vector_mask_high;
  alignas(64) std::uint8_t vector[4096];  // XSAVE area, standard format
};

// The vector components that the processor has and the test may fill with random bytes: SSE, AVX, AVX-512.
std::uint64_t vector_components();

// Runs until the code jumps to machine_return. One thread at a time: the code leaves no register for the
// state of the caller.
extern "C" void machine_run(Machine* machine);
extern "C" void machine_return();

}  // namespace musubi::atomics
