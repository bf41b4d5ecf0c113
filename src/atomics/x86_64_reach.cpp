#include "atomics/x86_64_reach.h"

#include <Zydis/Zydis.h>

#include <optional>

#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {
namespace {

using Code = std::span<const std::uint8_t>;

// Result: false if no instruction begins at `at`.
bool decode_at(Code code, std::size_t at, ZydisDecodedInstruction& decoded) {
  ZydisDecoder decoder;
  return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
         ZYAN_SUCCESS(
             ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data() + at, code.size() - at, &decoded));
}

bool ends_path(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_RET:
      return true;
    default:
      return instruction.mnemonic == ZYDIS_MNEMONIC_UD2 || instruction.mnemonic == ZYDIS_MNEMONIC_INT3 ||
             instruction.mnemonic == ZYDIS_MNEMONIC_HLT;
  }
}

std::size_t target(const ZydisDecodedInstruction& instruction, std::size_t at, std::size_t code_bytes) {
  for (const auto& immediate : instruction.raw.imm) {
    if (immediate.size == 0 || !immediate.is_relative) continue;
    const std::size_t place = at + instruction.length + static_cast<std::size_t>(immediate.value.s);
    return place < code_bytes ? place : code_bytes;
  }
  return code_bytes;
}

// Ignores prefixes: compilers set none but bnd before direct branches.
bool may_branch(const std::uint8_t* code) {
  const std::uint8_t first = code[0] == 0xf2 ? code[1] : code[0];
  return first == 0xe8 || first == 0xe9 || first == 0xeb || (first & 0xf0) == 0x70 || first == 0x0f;
}

}  // namespace

void for_each_branch(Code code, const std::function<void(std::size_t at, std::size_t target)>& visit) {
  ZydisDecodedInstruction instruction;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t length = common_length(code.data() + at, code.size() - at);
    if (length != 0 && !may_branch(code.data() + at)) {
      at += length;
    } else if (decode_at(code, at, instruction)) {
      if (const std::size_t place = target(instruction, at, code.size()); place != code.size())
        visit(at, place);
      at += instruction.length;
    } else {
      ++at;
    }
  }
}

void Reach::enter(std::size_t at) {
  if (at < code_.size()) entries_.push_back(at);
}

void Reach::enter_function(std::size_t begin, std::size_t end) {
  enter(begin);
  if (end > code_.size() || !decodes(begin, end)) return;
  ZydisDecodedInstruction instruction;
  for (std::size_t at = begin; at < end && decode_at(code_, at, instruction); at += instruction.length)
    enter(at);
}

bool Reach::decodes(std::size_t begin, std::size_t end) const {
  ZydisDecodedInstruction instruction;
  std::size_t at = begin;
  while (at < end && decode_at(code_, at, instruction)) at += instruction.length;
  return at == end;
}

void Reach::walk(const Atomic& atomic) {
  for (std::size_t i = 0; i < entries_.size(); ++i) follow(entries_[i], atomic);
  entries_.clear();
}

// From `at` to the end of the path, or to an instruction seen before.
void Reach::follow(std::size_t at, const Atomic& atomic) {
  Recent recent;
  ZydisDecodedInstruction instruction;
  while (at < code_.size() && !seen_[at] && decode_at(code_, at, instruction)) {
    seen_[at] = true;
    enter(target(instruction, at, code_.size()));
    if (const std::optional<Instruction> found = decode(code_.data() + at, code_.size() - at))
      atomic(at, *found, recent);
    if (ends_path(instruction)) return;
    recent.add(at);
    at += instruction.length;
  }
}

}  // namespace musubi::atomics::x86_64
