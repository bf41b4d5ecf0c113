#include "os/instruction.h"

namespace musubi::os {

#if defined(__x86_64__)

namespace {

// Prefixes before the opcode (Intel SDM volume 2, 2.1 and 2.2): operand and address size, segments, lock,
// repetition, REX.
bool is_prefix(unsigned char byte) {
  switch (byte) {
    case 0x26:
    case 0x2E:
    case 0x36:
    case 0x3E:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xF0:
    case 0xF2:
    case 0xF3:
      return true;
    default:
      return (byte & 0xF0) == 0x40;
  }
}

// Of the opcodes after 0F (volume 2, table A-3): SSE and MMX.
bool is_vector_opcode(unsigned char opcode) {
  return (opcode >= 0x10 && opcode <= 0x17) || (opcode >= 0x28 && opcode <= 0x2F) ||
         (opcode >= 0x50 && opcode <= 0x7F) || opcode == 0xC2 || (opcode >= 0xC4 && opcode <= 0xC6) ||
         opcode >= 0xD0;
}

}  // namespace

bool moves_numbers(const unsigned char* code) noexcept {
  constexpr unsigned prefixes_max = 14;
  for (unsigned i = 0; i < prefixes_max && is_prefix(*code); ++i) ++code;
  const unsigned char opcode = code[0];
  const bool is_vex = opcode == 0xC4 || opcode == 0xC5 || opcode == 0x62;
  const bool is_x87 = opcode >= 0xD8 && opcode <= 0xDF;
  const bool is_string_move = opcode == 0xA4 || opcode == 0xA5;
  if (is_vex || is_x87 || is_string_move) return true;
  if (opcode != 0x0F) return false;
  // 0F 38 F0 to F6 (movbe, crc32, adcx) work on general registers; the rest of both maps on vectors.
  if (code[1] == 0x38) return code[2] < 0xF0;
  return code[1] == 0x3A || is_vector_opcode(code[1]);
}

#else
#error "say here which instructions of this processor move floating-point numbers, vectors or strings"
#endif

}  // namespace musubi::os
