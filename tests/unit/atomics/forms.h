// Every form of an atomic read-modify-write, and its encoding in each addressing mode.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace musubi::atomics {

enum class FormSource { none, general_register, immediate, bit_register };

struct Form {
  std::string name;
  std::vector<std::uint8_t> opcode;
  unsigned bytes;  // size of the operand
  FormSource source = FormSource::none;
  unsigned digit = 0;  // in the register field when it holds no register
  unsigned immediate_bytes = 0;
  bool lock = true;
  std::uint64_t undefined_flags = 0;
};

std::vector<Form> all_forms();

enum class Addressing {
  base,
  base_byte,
  base_word,
  base_index,
  index_only,
  absolute,
  instruction_pointer,
  stack_byte,
  stack_word,
  thread_segment,
  cut_to_32_bits,
};
inline constexpr unsigned addressing_count = 11;

struct Encoding {
  Addressing addressing = Addressing::base;
  unsigned base = 0, index = 0, scale = 1;
  std::int32_t displacement = 0;
  unsigned source = 0;  // register; with high_byte 0-3 means ah ch dh bh
  bool high_byte = false;
  std::uint32_t immediate = 0;
  std::uint64_t target = 0;  // for instruction_pointer
};

// The bytes of the instruction placed at `at`.
std::vector<std::uint8_t> encode(const Form& form, const Encoding& encoding, std::uint64_t at);

}  // namespace musubi::atomics
