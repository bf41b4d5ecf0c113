// Atomic read-modify-write operations as data, and their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace musubi {

__extension__ typedef unsigned __int128 AtomicValue;  // operands of 1 to 16 bytes, zero-extended

// The order that an operation has beyond its own word, as far as the program shows.
enum class AtomicOrder : std::uint8_t {
  relaxed,  // none: the source says so
  unused,   // none, unless the job keeps order: no code looks at the old value
  meeting,  // threads may synchronise by it
};

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
  AtomicOrder order = AtomicOrder::unused;
};

inline AtomicValue mask_of(unsigned bytes) {
  return bytes >= 16 ? ~AtomicValue{0} : (AtomicValue{1} << (8 * bytes)) - 1;
}

// The value in memory after the operation, from the old value.
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

// Whether a processor does it by one instruction, at `offset` bytes from an aligned address.
constexpr bool is_one_instruction(const AtomicOperation& operation, std::size_t offset) {
  return operation.bytes <= sizeof(std::uint64_t) && offset % operation.bytes == 0;
}

// Changes a word by a processor atomic: another thread of its rank may store to it plainly at the same time
// (a spin lock that is released), and that store must not vanish between our load and our store. Result: the
// old value.
template <class Word>
AtomicValue modify_word(std::byte* place, const AtomicOperation& operation) noexcept {
  auto* word = reinterpret_cast<Word*>(place);
  if (operation.kind == AtomicOperation::Kind::add)
    return __atomic_fetch_add(word, static_cast<Word>(operation.operand), __ATOMIC_SEQ_CST);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, static_cast<Word>(apply(operation, old)), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

// The same for all sizes; operands that are unaligned or have 16 bytes change by a load and a store.
inline AtomicValue modify_in_place(std::byte* place, const AtomicOperation& operation) noexcept {
  const bool aligned = reinterpret_cast<std::uintptr_t>(place) % operation.bytes == 0;
  switch (aligned ? operation.bytes : 0) {
    case 1:
      return modify_word<std::uint8_t>(place, operation);
    case 2:
      return modify_word<std::uint16_t>(place, operation);
    case 4:
      return modify_word<std::uint32_t>(place, operation);
    case 8:
      return modify_word<std::uint64_t>(place, operation);
    default:
      break;
  }
  AtomicValue old = 0;
  std::memcpy(&old, place, operation.bytes);
  const AtomicValue next = apply(operation, old);
  std::memcpy(place, &next, operation.bytes);
  return old;
}

}  // namespace musubi
