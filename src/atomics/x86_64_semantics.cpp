#include "atomics/x86_64_semantics.h"

#include "base/check.h"

namespace musubi::atomics::x86_64 {
namespace {

using Kind = AtomicOperation::Kind;

constexpr std::uint64_t carry_flag = 1 << 0;
constexpr std::uint64_t parity_flag = 1 << 2;
constexpr std::uint64_t auxiliary_flag = 1 << 4;
constexpr std::uint64_t zero_flag = 1 << 6;
constexpr std::uint64_t sign_flag = 1 << 7;
constexpr std::uint64_t overflow_flag = 1 << 11;
constexpr std::uint64_t arithmetic_flags =
    carry_flag | parity_flag | auxiliary_flag | zero_flag | sign_flag | overflow_flag;

std::uint64_t cut(std::uint64_t value, unsigned bytes) {
  return bytes >= 8 ? value : value & ((std::uint64_t{1} << (bytes * 8)) - 1);
}

std::uint64_t read_register(const Registers& registers, unsigned number, bool high_byte, unsigned bytes) {
  return cut(registers.general[number] >> (high_byte ? 8 : 0), bytes);
}

// A 32-bit result clears the upper half of its register; narrower ones keep the rest.
void write_register(Registers& registers, unsigned number, bool high_byte, unsigned bytes,
                    std::uint64_t value) {
  std::uint64_t& target = registers.general[number];
  if (bytes >= 4) {
    target = cut(value, bytes);
    return;
  }
  const unsigned shift = high_byte ? 8 : 0;
  const std::uint64_t mask = ((std::uint64_t{1} << (bytes * 8)) - 1) << shift;
  target = (target & ~mask) | ((value << shift) & mask);
}

std::uint64_t source_value(const Instruction& instruction, const Registers& registers) {
  switch (instruction.source) {
    case Source::none:
      return 0;
    case Source::immediate:
      return cut(static_cast<std::uint64_t>(instruction.immediate), instruction.bytes);
    case Source::general_register:
      return read_register(registers, instruction.source_register, instruction.source_is_high_byte,
                           instruction.bytes);
  }
  __builtin_unreachable();
}

bool is_bit_test(Mnemonic mnemonic) {
  return mnemonic == Mnemonic::bts || mnemonic == Mnemonic::btr || mnemonic == Mnemonic::btc;
}

unsigned bit_of(const Instruction& instruction, const Registers& registers) {
  return static_cast<unsigned>(source_value(instruction, registers)) & (instruction.bytes * 8u - 1);
}

// edx:eax or rdx:rax, rcx:rbx likewise.
AtomicValue read_pair(const Registers& registers, Register high, Register low, unsigned bytes) {
  const unsigned half = bytes / 2;
  return AtomicValue{cut(registers.general[high], half)} << (half * 8) | cut(registers.general[low], half);
}

std::uint64_t result_flags(std::uint64_t result, unsigned bytes) {
  std::uint64_t flags = 0;
  if (result == 0) flags |= zero_flag;
  if ((result >> (bytes * 8 - 1)) & 1) flags |= sign_flag;
  if ((__builtin_popcountll(result & 0xff) & 1) == 0) flags |= parity_flag;
  return flags;
}

// The vector of carries out of each bit gives CF and AF, its two top bits OF (Warren, Hacker's Delight,
// 2-13).
std::uint64_t carry_flags(std::uint64_t carries, std::uint64_t overflows, unsigned bytes) {
  const unsigned top = bytes * 8 - 1;
  std::uint64_t flags = 0;
  if ((carries >> top) & 1) flags |= carry_flag;
  if ((carries >> 3) & 1) flags |= auxiliary_flag;
  if ((overflows >> top) & 1) flags |= overflow_flag;
  return flags;
}

std::uint64_t addition_flags(std::uint64_t a, std::uint64_t b, std::uint64_t carry, unsigned bytes) {
  const std::uint64_t sum = cut(a + b + carry, bytes);
  const std::uint64_t carries = (a & b) | ((a | b) & ~sum);
  return carry_flags(carries, (a ^ sum) & (b ^ sum), bytes) | result_flags(sum, bytes);
}

std::uint64_t subtraction_flags(std::uint64_t a, std::uint64_t b, std::uint64_t borrow, unsigned bytes) {
  const std::uint64_t difference = cut(a - b - borrow, bytes);
  const std::uint64_t borrows = (~a & b) | ((~a | b) & difference);
  return carry_flags(borrows, (a ^ b) & (a ^ difference), bytes) | result_flags(difference, bytes);
}

void set_flags(Registers& registers, std::uint64_t which, std::uint64_t flags) {
  registers.flags = (registers.flags & ~which) | (flags & which);
}

void complete_compare(const Instruction& instruction, std::uint64_t old, Registers& registers) {
  const std::uint64_t expected = read_register(registers, rax, false, instruction.bytes);
  set_flags(registers, arithmetic_flags, subtraction_flags(expected, old, 0, instruction.bytes));
  if (expected != old) write_register(registers, rax, false, instruction.bytes, old);
}

void complete_compare_pair(const Instruction& instruction, AtomicValue old, Registers& registers) {
  const bool equal = read_pair(registers, rdx, rax, instruction.bytes) == old;
  set_flags(registers, zero_flag, equal ? zero_flag : 0);
  if (equal) return;
  const unsigned half = instruction.bytes / 2;
  write_register(registers, rax, false, half, static_cast<std::uint64_t>(old));
  write_register(registers, rdx, false, half, static_cast<std::uint64_t>(old >> (half * 8)));
}

}  // namespace

std::uintptr_t effective_address(const Instruction& instruction, const Registers& registers,
                                 std::uintptr_t next_instruction, std::uintptr_t fs) {
  std::uint64_t address = static_cast<std::uint64_t>(instruction.displacement);
  if (instruction.rip_relative) address += next_instruction;
  if (instruction.base != no_register) address += registers.general[instruction.base];
  if (instruction.index != no_register) address += registers.general[instruction.index] * instruction.scale;
  if (is_bit_test(instruction.mnemonic) && instruction.source == Source::general_register) {
    const unsigned bits = instruction.bytes * 8u;
    const std::uint64_t offset = source_value(instruction, registers);
    const auto bit = static_cast<std::int64_t>(offset << (64 - bits)) >> (64 - bits);
    address += static_cast<std::uint64_t>((bit >> __builtin_ctz(bits)) * instruction.bytes);
  }
  if (instruction.address_is_32_bit) address = cut(address, 4);
  if (instruction.segment == SegmentBase::fs) address += fs;
  return address;
}

AtomicOperation operation_of(const Instruction& instruction, const Registers& registers) {
  const unsigned bytes = instruction.bytes;
  const std::uint64_t source = source_value(instruction, registers);
  const std::uint64_t carry = registers.flags & carry_flag;
  auto make = [bytes](Kind kind, std::uint64_t operand) {
    return AtomicOperation{kind, static_cast<std::uint8_t>(bytes), cut(operand, bytes), 0};
  };
  switch (instruction.mnemonic) {
    case Mnemonic::add:
    case Mnemonic::xadd:
      return make(Kind::add, source);
    case Mnemonic::adc:
      return make(Kind::add, source + carry);
    case Mnemonic::sub:
      return make(Kind::subtract, source);
    case Mnemonic::sbb:
      return make(Kind::subtract, source + carry);
    case Mnemonic::inc:
      return make(Kind::add, 1);
    case Mnemonic::dec:
      return make(Kind::subtract, 1);
    case Mnemonic::or_:
      return make(Kind::bit_or, source);
    case Mnemonic::and_:
      return make(Kind::bit_and, source);
    case Mnemonic::xor_:
      return make(Kind::bit_xor, source);
    case Mnemonic::not_:
      return make(Kind::bit_not, 0);
    case Mnemonic::neg:
      return make(Kind::negate, 0);
    case Mnemonic::xchg:
      return make(Kind::exchange, source);
    case Mnemonic::bts:
      return make(Kind::bit_or, std::uint64_t{1} << bit_of(instruction, registers));
    case Mnemonic::btr:
      return make(Kind::bit_and, ~(std::uint64_t{1} << bit_of(instruction, registers)));
    case Mnemonic::btc:
      return make(Kind::bit_xor, std::uint64_t{1} << bit_of(instruction, registers));
    case Mnemonic::cmpxchg: {
      AtomicOperation operation = make(Kind::compare_exchange, source);
      operation.compare = read_register(registers, rax, false, bytes);
      return operation;
    }
    case Mnemonic::cmpxchg_pair:
      return AtomicOperation{Kind::compare_exchange, static_cast<std::uint8_t>(bytes),
                             read_pair(registers, rcx, rbx, bytes), read_pair(registers, rdx, rax, bytes)};
    case Mnemonic::mfence:
      break;
  }
  MUSUBI_CHECK(false, "a fence has no operand in memory");
  __builtin_unreachable();
}

void complete(const Instruction& instruction, AtomicValue wide_old, Registers& registers) {
  const unsigned bytes = instruction.bytes;
  const auto old = static_cast<std::uint64_t>(wide_old);
  const std::uint64_t source = source_value(instruction, registers);
  const std::uint64_t carry = registers.flags & carry_flag;
  switch (instruction.mnemonic) {
    case Mnemonic::add:
    case Mnemonic::xadd:
      set_flags(registers, arithmetic_flags, addition_flags(old, source, 0, bytes));
      break;
    case Mnemonic::adc:
      set_flags(registers, arithmetic_flags, addition_flags(old, source, carry, bytes));
      break;
    case Mnemonic::sub:
      set_flags(registers, arithmetic_flags, subtraction_flags(old, source, 0, bytes));
      break;
    case Mnemonic::sbb:
      set_flags(registers, arithmetic_flags, subtraction_flags(old, source, carry, bytes));
      break;
    case Mnemonic::inc:
      set_flags(registers, arithmetic_flags & ~carry_flag, addition_flags(old, 1, 0, bytes));
      break;
    case Mnemonic::dec:
      set_flags(registers, arithmetic_flags & ~carry_flag, subtraction_flags(old, 1, 0, bytes));
      break;
    case Mnemonic::or_:
      set_flags(registers, arithmetic_flags, result_flags(old | source, bytes));
      break;
    case Mnemonic::and_:
      set_flags(registers, arithmetic_flags, result_flags(old & source, bytes));
      break;
    case Mnemonic::xor_:
      set_flags(registers, arithmetic_flags, result_flags(old ^ source, bytes));
      break;
    case Mnemonic::neg:
      set_flags(registers, arithmetic_flags, subtraction_flags(0, old, 0, bytes));
      break;
    case Mnemonic::bts:
    case Mnemonic::btr:
    case Mnemonic::btc:
      set_flags(registers, carry_flag, old >> bit_of(instruction, registers));
      break;
    case Mnemonic::cmpxchg:
      complete_compare(instruction, old, registers);
      break;
    case Mnemonic::cmpxchg_pair:
      complete_compare_pair(instruction, wide_old, registers);
      break;
    case Mnemonic::not_:
    case Mnemonic::xchg:
    case Mnemonic::mfence:
      break;
  }
  if (instruction.mnemonic == Mnemonic::xadd || instruction.mnemonic == Mnemonic::xchg) {
    write_register(registers, instruction.source_register, instruction.source_is_high_byte, bytes, old);
  }
}

std::uintptr_t fs_base() {
  std::uintptr_t base;
  // The x86-64 ABI keeps the thread control block's own address in its first word; rdfsbase needs newer
  // processors.
  asm("mov %%fs:0, %0" : "=r"(base));
  return base;
}

}  // namespace musubi::atomics::x86_64
