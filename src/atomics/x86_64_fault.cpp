#include "atomics/patch.h"
#include "atomics/x86_64_semantics.h"

namespace musubi::atomics {
namespace {

// The kernel's register indices in the processor's numbering.
constexpr int kernel_index[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

x86_64::Registers registers_of(const ucontext_t& context) {
  x86_64::Registers registers;
  for (int i = 0; i < 16; ++i) {
    registers.general[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[kernel_index[i]]);
  }
  registers.flags = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_EFL]);
  return registers;
}

void set_registers(ucontext_t& context, const x86_64::Registers& registers) {
  for (int i = 0; i < 16; ++i) {
    context.uc_mcontext.gregs[kernel_index[i]] = static_cast<greg_t>(registers.general[i]);
  }
  context.uc_mcontext.gregs[REG_EFL] = static_cast<greg_t>(registers.flags);
}

}  // namespace

bool emulate_at_fault(ucontext_t* context, const SharedRanges& ranges, AtomicSink& sink) noexcept {
  const auto program_counter = static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
  const auto* code = reinterpret_cast<const void*>(program_counter);
  if (!x86_64::may_be_atomic(code)) return false;
  const auto instruction = x86_64::decode(code, x86_64::instruction_bytes_max);
  if (!instruction || instruction->mnemonic == x86_64::Mnemonic::mfence) return false;
  x86_64::Registers registers = registers_of(*context);
  const std::uintptr_t next = program_counter + instruction->length;
  const std::uintptr_t address = x86_64::effective_address(*instruction, registers, next, x86_64::fs_base());
  if (!ranges.contains(address)) return false;
  const AtomicValue old = sink.execute(address, x86_64::operation_of(*instruction, registers));
  x86_64::complete(*instruction, old, registers);
  set_registers(*context, registers);
  context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(next);
  return true;
}

}  // namespace musubi::atomics
