#include "atomics/x86_64_instruction.h"

#include <array>
#include <cstdint>

namespace musubi::atomics::x86_64 {
namespace {

// The bytes that follow an opcode. `unknown`: rare, forbidden, or of interest to the scan.
enum class Form : std::uint8_t {
  unknown,
  plain,         // nothing
  byte,          // 1 byte
  word,          // 4 bytes, or 2 by prefix 66
  full,          // 4 bytes, 2 by prefix 66, 8 by REX.W
  near_jump,     // 1 byte; without prefix 66
  jump,          // 4 bytes; without prefix 66
  operand,       // an operand in registers or memory
  operand_byte,  // and 1 byte
  operand_word,  // and 4 bytes, or 2 by prefix 66
  address,       // an operand in memory only (lea)
  shift,         // as operand; but number 6 of the group is undocumented
  shift_byte,
  move_byte,   // operand_byte; only number 0 of the group
  move_word,   // operand_word; only number 0 of the group
  unary_byte,  // group of test, not, neg, mul, ...: number 0 is followed by a byte
  unary_word,
  step,          // inc and dec
  step_or_call,  // and calls, jumps and pushes
  bit_test,      // operand_byte; from number 4 of the group on
};

// A prefix gives vector instructions another meaning, or none.
enum Prefixes : std::uint8_t { none = 1, with_66 = 2, with_f3 = 4, with_f2 = 8, whole_or_66 = 3, any = 15 };

struct Opcode {
  Form form = Form::unknown;
  std::uint8_t prefixes = none | with_66;
};
using Map = std::array<Opcode, 256>;

constexpr void set(Map& map, unsigned first, unsigned last, Form form, std::uint8_t prefixes = whole_or_66) {
  for (unsigned opcode = first; opcode <= last; ++opcode) map[opcode] = {form, prefixes};
}

constexpr Map one_byte_map() {
  Map map{};
  for (unsigned group = 0; group < 0x40; group += 8) {  // add or adc sbb and sub xor cmp
    set(map, group, group + 3, Form::operand);
    set(map, group + 4, group + 4, Form::byte);
    set(map, group + 5, group + 5, Form::word);
  }
  set(map, 0x50, 0x5f, Form::plain);  // push, pop
  set(map, 0x63, 0x63, Form::operand);
  set(map, 0x68, 0x68, Form::word);
  set(map, 0x69, 0x69, Form::operand_word);
  set(map, 0x6a, 0x6a, Form::byte);
  set(map, 0x6b, 0x6b, Form::operand_byte);
  set(map, 0x70, 0x7f, Form::near_jump);
  set(map, 0x80, 0x80, Form::operand_byte);
  set(map, 0x81, 0x81, Form::operand_word);
  set(map, 0x83, 0x83, Form::operand_byte);
  set(map, 0x84, 0x85, Form::operand);
  set(map, 0x88, 0x8b, Form::operand);  // mov
  set(map, 0x8d, 0x8d, Form::address);
  set(map, 0x98, 0x99, Form::plain);
  set(map, 0xa8, 0xa8, Form::byte);
  set(map, 0xa9, 0xa9, Form::word);
  set(map, 0xb0, 0xb7, Form::byte);
  set(map, 0xb8, 0xbf, Form::full);
  set(map, 0xc0, 0xc1, Form::shift_byte);
  set(map, 0xc3, 0xc3, Form::plain, none);
  set(map, 0xc6, 0xc6, Form::move_byte);
  set(map, 0xc7, 0xc7, Form::move_word);
  set(map, 0xc9, 0xc9, Form::plain, none);
  set(map, 0xcc, 0xcc, Form::plain, none);
  set(map, 0xd0, 0xd3, Form::shift);
  set(map, 0xe8, 0xe9, Form::jump);
  set(map, 0xeb, 0xeb, Form::near_jump);
  set(map, 0xf6, 0xf6, Form::unary_byte);
  set(map, 0xf7, 0xf7, Form::unary_word);
  set(map, 0xfe, 0xfe, Form::step);
  set(map, 0xff, 0xff, Form::step_or_call, none);
  return map;
}

// After 0f.
constexpr Map two_byte_map() {
  Map map{};
  set(map, 0x0b, 0x0b, Form::plain, none);
  set(map, 0x10, 0x11, Form::operand, any);
  set(map, 0x14, 0x15, Form::operand);
  set(map, 0x28, 0x29, Form::operand);
  set(map, 0x2a, 0x2a, Form::operand, with_f2 | with_f3);
  set(map, 0x2c, 0x2d, Form::operand, with_f2 | with_f3);
  set(map, 0x2e, 0x2f, Form::operand);
  set(map, 0x40, 0x4f, Form::operand);  // cmov
  set(map, 0x51, 0x51, Form::operand, any);
  set(map, 0x54, 0x57, Form::operand);
  set(map, 0x58, 0x5a, Form::operand, any);
  set(map, 0x5b, 0x5b, Form::operand, none | with_66 | with_f3);
  set(map, 0x5c, 0x5f, Form::operand, any);
  set(map, 0x60, 0x6e, Form::operand, with_66);
  set(map, 0x6f, 0x6f, Form::operand, with_66 | with_f3);
  set(map, 0x70, 0x70, Form::operand_byte, with_66 | with_f2 | with_f3);
  set(map, 0x74, 0x76, Form::operand, with_66);
  set(map, 0x7e, 0x7f, Form::operand, with_66 | with_f3);
  set(map, 0x80, 0x8f, Form::jump);
  set(map, 0x90, 0x9f, Form::operand);  // set
  set(map, 0xa4, 0xa4, Form::operand_byte);
  set(map, 0xa5, 0xa5, Form::operand);
  set(map, 0xac, 0xac, Form::operand_byte);
  set(map, 0xad, 0xad, Form::operand);
  set(map, 0xaf, 0xaf, Form::operand);
  set(map, 0xb6, 0xb7, Form::operand);
  set(map, 0xba, 0xba, Form::bit_test);
  set(map, 0xbc, 0xbd, Form::operand, none | with_f3);
  set(map, 0xbe, 0xbf, Form::operand);
  set(map, 0xc6, 0xc6, Form::operand_byte);
  set(map, 0xc8, 0xcf, Form::plain, none);  // bswap
  set(map, 0xd4, 0xd4, Form::operand, with_66);
  set(map, 0xd6, 0xd6, Form::operand, with_66);
  set(map, 0xdb, 0xdb, Form::operand, with_66);
  set(map, 0xdf, 0xdf, Form::operand, with_66);
  set(map, 0xeb, 0xeb, Form::operand, with_66);
  set(map, 0xef, 0xef, Form::operand, with_66);
  set(map, 0xf8, 0xfe, Form::operand, with_66);
  return map;
}

constexpr Map one_byte = one_byte_map();
constexpr Map two_byte = two_byte_map();

// Bytes of the operand, from its ModRM byte on; 0 if `available` ends before it.
std::size_t operand_bytes(const std::uint8_t* code, std::size_t available) {
  if (available < 1) return 0;
  const unsigned mode = code[0] >> 6, base = code[0] & 7;
  if (mode == 3) return 1;
  constexpr unsigned index_follows = 4, address_instead = 5;
  std::size_t bytes = 1;
  bool displacement_instead = base == address_instead;
  if (base == index_follows) {
    if (available < 2) return 0;
    displacement_instead = (code[1] & 7) == address_instead;
    ++bytes;
  }
  if (mode == 1) return bytes + 1;
  return mode == 2 || displacement_instead ? bytes + 4 : bytes;
}

struct Size {
  bool is_16_bit, is_64_bit;  // prefix 66, REX.W
  std::size_t word() const { return is_16_bit ? 2 : 4; }
};

// Bytes after operand number `member` of a group; empty: not a common instruction.
struct Behind {
  bool known;
  std::size_t bytes;
};

Behind behind_operand(Form form, unsigned member, unsigned mode, Size size) {
  switch (form) {
    case Form::operand:
      return {true, 0};
    case Form::operand_byte:
      return {true, 1};
    case Form::operand_word:
      return {true, size.word()};
    case Form::address:
      return {mode != 3, 0};
    case Form::shift:
      return {member != 6, 0};
    case Form::shift_byte:
      return {member != 6, 1};
    case Form::move_byte:
      return {member == 0, 1};
    case Form::move_word:
      return {member == 0, size.word()};
    case Form::unary_byte:
      return {member != 1, member == 0 ? std::size_t{1} : 0};
    case Form::unary_word:
      return {member != 1, member == 0 ? size.word() : 0};
    case Form::step:
      return {member < 2, 0};
    case Form::step_or_call:
      return {member < 3 || member == 4 || member == 6, 0};
    case Form::bit_test:
      return {member >= 4, 1};
    default:
      return {false, 0};
  }
}

// Bytes after the opcode; SIZE_MAX: not a common instruction.
std::size_t bytes_behind(Form form, const std::uint8_t* code, std::size_t available, Size size) {
  switch (form) {
    case Form::unknown:
      return SIZE_MAX;
    case Form::plain:
      return 0;
    case Form::byte:
      return 1;
    case Form::word:
      return size.word();
    case Form::full:
      return size.is_64_bit ? 8 : size.word();
    case Form::near_jump:
      return size.is_16_bit ? SIZE_MAX : 1;
    case Form::jump:
      return size.is_16_bit ? SIZE_MAX : 4;
    default:
      break;
  }
  const std::size_t operand = operand_bytes(code, available);
  if (operand == 0) return SIZE_MAX;
  const Behind behind = behind_operand(form, code[0] >> 3 & 7, code[0] >> 6, size);
  return behind.known ? operand + behind.bytes : SIZE_MAX;
}

}  // namespace

std::size_t common_length(const void* code, std::size_t available) noexcept {
  const auto* byte = static_cast<const std::uint8_t*>(code);
  std::size_t at = 0;
  std::uint8_t prefix = none;
  // At most one of these: two are rare.
  if (available > 0 && (byte[0] == 0x66 || byte[0] == 0xf2 || byte[0] == 0xf3)) {
    prefix = byte[0] == 0x66 ? with_66 : byte[0] == 0xf2 ? with_f2 : with_f3;
    ++at;
  }
  Size size{prefix == with_66, false};
  if (at < available && (byte[at] & 0xf0) == 0x40) {
    size.is_64_bit = (byte[at] & 8) != 0;
    ++at;
  }
  if (size.is_16_bit && size.is_64_bit) return 0;
  if (at + 1 >= available) return 0;
  const bool escaped = byte[at] == 0x0f;
  if (escaped) ++at;
  const Opcode& opcode = escaped ? two_byte[byte[at]] : one_byte[byte[at]];
  ++at;
  if ((opcode.prefixes & prefix) == 0) return 0;
  const std::size_t behind = bytes_behind(opcode.form, byte + at, available - at, size);
  return behind <= available - at ? at + behind : 0;
}

}  // namespace musubi::atomics::x86_64
