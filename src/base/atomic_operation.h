// Atomic read-modify-write operations as data, and what they compute. Pure.
#pragma once

#include <cstdint>

namespace musubi {

__extension__ typedef unsigned __int128 AtomicValue;  // operands of 1 to 16 bytes, zero-extended

struct AtomicOperation {
  enum class Kind : std::uint8_t {
    load,
    store,     // operand
    exchange,  // operand
    add,
    subtract,
    bit_and,
    bit_or,
    bit_xor,
    negate,
    bit_not,
    compare_exchange,  // operand if old == compare
  };
  Kind kind;
  std::uint8_t bytes;  // 1, 2, 4, 8 or 16
  AtomicValue operand = 0;
  AtomicValue compare = 0;
  bool orders = false;  // the program makes more of what it finds than the new value: threads may meet by it
};

inline AtomicValue mask_of(unsigned bytes) {
  return bytes >= 16 ? ~AtomicValue{0} : (AtomicValue{1} << (8 * bytes)) - 1;
}

// The value in memory after the operation, given the one before.
inline AtomicValue apply(const AtomicOperation& operation, AtomicValue old) {
  using Kind = AtomicOperation::Kind;
  const AtomicValue mask = mask_of(operation.bytes);
  switch (operation.kind) {
    case Kind::load:
      return old;
    case Kind::store:
    case Kind::exchange:
      return operation.operand & mask;
    case Kind::add:
      return (old + operation.operand) & mask;
    case Kind::subtract:
      return (old - operation.operand) & mask;
    case Kind::bit_and:
      return old & operation.operand & mask;
    case Kind::bit_or:
      return (old | operation.operand) & mask;
    case Kind::bit_xor:
      return (old ^ operation.operand) & mask;
    case Kind::negate:
      return (0 - old) & mask;
    case Kind::bit_not:
      return ~old & mask;
    case Kind::compare_exchange:
      return ((old ^ operation.compare) & mask) == 0 ? operation.operand & mask : old;
  }
  __builtin_unreachable();
}

}  // namespace musubi
