// Translates an instruction and the registers to an operation on memory, and its old value back to registers
// and flags. Pure, signal-safe.
#pragma once

#include <cstdint>

#include "atomics/x86_64_instruction.h"
#include "base/atomic_operation.h"

namespace musubi::atomics::x86_64 {

// In the order in which the entry from patched code pushes them; `general` in the processor's numbering.
struct Registers {
  std::uint64_t general[16];
  std::uint64_t flags;
};

struct Request {
  std::uintptr_t address = 0;
  AtomicOperation operation;
};

// The address of the instruction's memory operand. `next_instruction` is the address after it. For bit tests
// with the offset in a register this is the unit of the operand's width that holds the bit, as the processor
// accesses it.
std::uintptr_t effective_address(const Instruction& instruction, const Registers& registers,
                                 std::uintptr_t next_instruction, std::uintptr_t fs_base);

// REQUIRES: not a fence by mfence.
AtomicOperation operation_of(const Instruction& instruction, const Registers& registers);

// Sets registers and flags as after the instruction, given the old value of the word. Flags that the
// processor leaves undefined are as on common ones: AF cleared by logic, the other flags of a bit test kept.
void complete(const Instruction& instruction, AtomicValue old, Registers& registers);

// The base of the running thread's fs segment.
std::uintptr_t fs_base();

}  // namespace musubi::atomics::x86_64
