#include "forms.h"

namespace musubi::atomics {
namespace {

constexpr std::uint64_t af = 1 << 4;
constexpr std::uint64_t all_but_carry_and_zero = 1 << 2 | af | 1 << 7 | 1 << 11;

std::uint8_t wide(unsigned opcode, unsigned bytes) {
  return static_cast<std::uint8_t>(opcode | (bytes > 1 ? 1 : 0));
}

std::string named(const char* mnemonic, unsigned bytes, const char* operand) {
  return std::string("lock ") + mnemonic + std::to_string(bytes * 8) + operand;
}

void add_arithmetic(std::vector<Form>& forms, unsigned bytes) {
  static const char* const names[] = {"add", "or", "adc", "sbb", "and", "sub", "xor"};
  for (unsigned i = 0; i < 7; ++i) {
    const std::uint64_t undefined = i == 1 || i == 4 || i == 6 ? af : 0;
    const unsigned full = bytes >= 4 ? 4 : bytes;
    forms.push_back({named(names[i], bytes, " reg"),
                     {wide(i << 3, bytes)},
                     bytes,
                     FormSource::general_register,
                     0,
                     0,
                     true,
                     undefined});
    forms.push_back({named(names[i], bytes, " imm"),
                     {wide(0x80, bytes)},
                     bytes,
                     FormSource::immediate,
                     i,
                     full,
                     true,
                     undefined});
    if (bytes == 1) continue;
    forms.push_back(
        {named(names[i], bytes, " imm8"), {0x83}, bytes, FormSource::immediate, i, 1, true, undefined});
  }
}

void add_unary_and_exchanges(std::vector<Form>& forms, unsigned bytes) {
  forms.push_back({named("inc", bytes, ""), {wide(0xfe, bytes)}, bytes, FormSource::none, 0});
  forms.push_back({named("dec", bytes, ""), {wide(0xfe, bytes)}, bytes, FormSource::none, 1});
  forms.push_back({named("not", bytes, ""), {wide(0xf6, bytes)}, bytes, FormSource::none, 2});
  forms.push_back({named("neg", bytes, ""), {wide(0xf6, bytes)}, bytes, FormSource::none, 3});
  forms.push_back({named("xadd", bytes, ""), {0x0f, wide(0xc0, bytes)}, bytes, FormSource::general_register});
  forms.push_back(
      {named("cmpxchg", bytes, ""), {0x0f, wide(0xb0, bytes)}, bytes, FormSource::general_register});
  forms.push_back({named("xchg", bytes, ""), {wide(0x86, bytes)}, bytes, FormSource::general_register});
  forms.push_back({"xchg" + std::to_string(bytes * 8),
                   {wide(0x86, bytes)},
                   bytes,
                   FormSource::general_register,
                   0,
                   0,
                   false});
}

void add_bit_tests(std::vector<Form>& forms, unsigned bytes) {
  static const char* const names[] = {"bts", "btr", "btc"};
  for (unsigned i = 0; i < 3; ++i) {
    forms.push_back({named(names[i], bytes, " reg"),
                     {0x0f, static_cast<std::uint8_t>(0xab + 8 * i)},
                     bytes,
                     FormSource::bit_register,
                     0,
                     0,
                     true,
                     all_but_carry_and_zero});
    forms.push_back({named(names[i], bytes, " imm"),
                     {0x0f, 0xba},
                     bytes,
                     FormSource::immediate,
                     5 + i,
                     1,
                     true,
                     all_but_carry_and_zero});
  }
}

void append(std::vector<std::uint8_t>& code, std::uint32_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) code.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void append_with_sib(std::vector<std::uint8_t>& code, unsigned mode, unsigned field, const Encoding& e,
                     unsigned base, unsigned index, unsigned displacement_bytes) {
  code.push_back(static_cast<std::uint8_t>(mode << 6 | field << 3 | 4));
  const auto scale = static_cast<unsigned>(__builtin_ctz(e.scale));
  code.push_back(static_cast<std::uint8_t>(scale << 6 | (index & 7) << 3 | (base & 7)));
  append(code, static_cast<std::uint32_t>(e.displacement), displacement_bytes);
}

void append_operand(std::vector<std::uint8_t>& code, unsigned field, const Encoding& e) {
  constexpr unsigned none = 4, no_base = 5;
  // A SIB byte is needed for rsp and r12, a displacement for rbp and r13.
  auto simple = [&](unsigned mode, unsigned displacement_bytes) {
    if ((e.base & 7) == 4) {
      append_with_sib(code, mode, field, e, e.base, none, displacement_bytes);
      return;
    }
    code.push_back(static_cast<std::uint8_t>(mode << 6 | field << 3 | (e.base & 7)));
    append(code, static_cast<std::uint32_t>(e.displacement), displacement_bytes);
  };
  switch (e.addressing) {
    case Addressing::base:
    case Addressing::thread_segment:
    case Addressing::cut_to_32_bits:
      return (e.base & 7) == 5 ? simple(1, 1) : simple(0, 0);
    case Addressing::base_byte:
    case Addressing::stack_byte:
      return simple(1, 1);
    case Addressing::base_word:
    case Addressing::stack_word:
      return simple(2, 4);
    case Addressing::base_index:
      return append_with_sib(code, 2, field, e, e.base, e.index, 4);
    case Addressing::index_only:
      return append_with_sib(code, 0, field, e, no_base, e.index, 4);
    case Addressing::absolute:
      return append_with_sib(code, 0, field, e, no_base, none, 4);
    case Addressing::instruction_pointer:
      code.push_back(static_cast<std::uint8_t>(field << 3 | 5));
      append(code, 0, 4);  // set when the length is known
  }
}

}  // namespace

std::vector<Form> all_forms() {
  std::vector<Form> forms;
  for (unsigned bytes : {1u, 2u, 4u, 8u}) {
    add_arithmetic(forms, bytes);
    add_unary_and_exchanges(forms, bytes);
    if (bytes > 1) add_bit_tests(forms, bytes);
  }
  forms.push_back({"lock cmpxchg8b", {0x0f, 0xc7}, 8, FormSource::none, 1});
  forms.push_back({"lock cmpxchg16b", {0x0f, 0xc7}, 16, FormSource::none, 1});
  return forms;
}

std::vector<std::uint8_t> encode(const Form& form, const Encoding& e, std::uint64_t at) {
  std::vector<std::uint8_t> code;
  if (e.addressing == Addressing::cut_to_32_bits) code.push_back(0x67);
  if (e.addressing == Addressing::thread_segment) code.push_back(0x64);
  if (form.bytes == 2) code.push_back(0x66);
  if (form.lock) code.push_back(0xf0);
  const bool has_register =
      form.source == FormSource::general_register || form.source == FormSource::bit_register;
  unsigned rex = 0;
  const bool pair_of_words = form.name == "lock cmpxchg8b";
  if (form.bytes >= 8 && !pair_of_words) rex |= 0x48;
  if (has_register && e.source >= 8) rex |= 0x44;
  if (e.addressing == Addressing::base_index || e.addressing == Addressing::index_only) {
    if (e.index >= 8) rex |= 0x42;
  }
  const bool has_base = e.addressing != Addressing::index_only && e.addressing != Addressing::absolute &&
                        e.addressing != Addressing::instruction_pointer;
  if (has_base && e.base >= 8) rex |= 0x41;
  // Without it, registers 4-7 would mean ah ch dh bh.
  if (has_register && form.bytes == 1 && !e.high_byte && e.source >= 4 && e.source < 8) rex |= 0x40;
  if (rex != 0) code.push_back(static_cast<std::uint8_t>(rex));
  code.insert(code.end(), form.opcode.begin(), form.opcode.end());
  const unsigned field = has_register ? (e.high_byte ? e.source + 4 : e.source & 7) : form.digit;
  append_operand(code, field, e);
  const std::size_t displacement_end = code.size();
  append(code, e.immediate, form.immediate_bytes);
  if (e.addressing == Addressing::instruction_pointer) {
    const auto distance = static_cast<std::uint32_t>(e.target - (at + code.size()));
    for (unsigned i = 0; i < 4; ++i)
      code[displacement_end - 4 + i] = static_cast<std::uint8_t>(distance >> (8 * i));
  }
  return code;
}

}  // namespace musubi::atomics
