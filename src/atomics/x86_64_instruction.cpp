#include "atomics/x86_64_instruction.h"

#include <Zydis/Zydis.h>

namespace musubi::atomics::x86_64 {
namespace {

bool initialize(ZydisDecoder& decoder) {
  return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

std::optional<Mnemonic> mnemonic_of(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
      return Mnemonic::add;
    case ZYDIS_MNEMONIC_OR:
      return Mnemonic::or_;
    case ZYDIS_MNEMONIC_ADC:
      return Mnemonic::adc;
    case ZYDIS_MNEMONIC_SBB:
      return Mnemonic::sbb;
    case ZYDIS_MNEMONIC_AND:
      return Mnemonic::and_;
    case ZYDIS_MNEMONIC_SUB:
      return Mnemonic::sub;
    case ZYDIS_MNEMONIC_XOR:
      return Mnemonic::xor_;
    case ZYDIS_MNEMONIC_INC:
      return Mnemonic::inc;
    case ZYDIS_MNEMONIC_DEC:
      return Mnemonic::dec;
    case ZYDIS_MNEMONIC_NOT:
      return Mnemonic::not_;
    case ZYDIS_MNEMONIC_NEG:
      return Mnemonic::neg;
    case ZYDIS_MNEMONIC_XADD:
      return Mnemonic::xadd;
    case ZYDIS_MNEMONIC_XCHG:
      return Mnemonic::xchg;
    case ZYDIS_MNEMONIC_CMPXCHG:
      return Mnemonic::cmpxchg;
    case ZYDIS_MNEMONIC_BTS:
      return Mnemonic::bts;
    case ZYDIS_MNEMONIC_BTR:
      return Mnemonic::btr;
    case ZYDIS_MNEMONIC_BTC:
      return Mnemonic::btc;
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
      return Mnemonic::cmpxchg_pair;
    case ZYDIS_MNEMONIC_MFENCE:
      return Mnemonic::mfence;
    default:
      return std::nullopt;
  }
}

// Candidates by the first decoding step, which ignores operands.
bool is_candidate(const ZydisDecodedInstruction& decoded) {
  if (decoded.mnemonic == ZYDIS_MNEMONIC_MFENCE) return true;
  if ((decoded.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0) return true;
  // XCHG with memory locks implicitly.
  return decoded.mnemonic == ZYDIS_MNEMONIC_XCHG && (decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 &&
         decoded.raw.modrm.mod != 3;
}

std::uint8_t general_register(ZydisRegister name) {
  return name == ZYDIS_REGISTER_NONE ? no_register : static_cast<std::uint8_t>(ZydisRegisterGetId(name));
}

void set_source_register(Instruction& instruction, ZydisRegister name) {
  instruction.source = Source::general_register;
  if (ZydisRegisterGetClass(name) != ZYDIS_REGCLASS_GPR8) {
    instruction.source_register = general_register(name);
    return;
  }
  // The bytes are listed as al cl dl bl, ah ch dh bh, spl bpl sil dil, r8b ... r15b.
  const int id = static_cast<int>(name) - static_cast<int>(ZYDIS_REGISTER_AL);
  instruction.source_is_high_byte = id >= 4 && id < 8;
  instruction.source_register = static_cast<std::uint8_t>(id < 4 ? id : id - 4);
}

std::int64_t sign_extended(std::uint64_t value, unsigned bits) {
  const unsigned shift = 64 - bits;
  return static_cast<std::int64_t>(value << shift) >> shift;
}

bool set_memory(Instruction& instruction, const ZydisDecodedInstruction& decoded,
                const ZydisDecodedOperand& operand) {
  const ZydisDecodedOperandMem& memory = operand.mem;
  if (memory.segment == ZYDIS_REGISTER_GS) return false;
  instruction.bytes = static_cast<std::uint8_t>(operand.size / 8);
  instruction.segment = memory.segment == ZYDIS_REGISTER_FS ? SegmentBase::fs : SegmentBase::none;
  instruction.address_is_32_bit = decoded.address_width == 32;
  instruction.displacement = memory.disp.has_displacement ? memory.disp.value : 0;
  instruction.displacement_at = decoded.raw.disp.offset;
  if (memory.base == ZYDIS_REGISTER_RIP || memory.base == ZYDIS_REGISTER_EIP) {
    instruction.rip_relative = true;
    return true;
  }
  instruction.base = general_register(memory.base);
  instruction.index = general_register(memory.index);
  instruction.scale = memory.scale == 0 ? 1 : memory.scale;
  return true;
}

bool writes_source(Mnemonic mnemonic) {
  return mnemonic == Mnemonic::xchg || mnemonic == Mnemonic::xadd;
}

std::optional<Instruction> describe(const ZydisDecoder& decoder, const ZydisDecoderContext& context,
                                    const ZydisDecodedInstruction& decoded) {
  const std::optional<Mnemonic> mnemonic = mnemonic_of(decoded.mnemonic);
  if (!mnemonic) return std::nullopt;
  Instruction instruction;
  instruction.mnemonic = *mnemonic;
  instruction.length = decoded.length;
  if (*mnemonic == Mnemonic::mfence) return instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT_VISIBLE];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &decoded, operands,
                                               decoded.operand_count_visible))) {
    return std::nullopt;
  }
  for (unsigned i = 0; i < decoded.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      if (!set_memory(instruction, decoded, operand)) return std::nullopt;
    } else if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      set_source_register(instruction, operand.reg.value);
    } else if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
      instruction.source = Source::immediate;
      instruction.immediate = sign_extended(decoded.raw.imm[0].value.u, decoded.raw.imm[0].size);
    }
  }
  const bool known_width = instruction.bytes == 1 || instruction.bytes == 2 || instruction.bytes == 4 ||
                           instruction.bytes == 8 || instruction.bytes == 16;
  // A result in rsp would move the emulation's own stack frame.
  if (!known_width || (writes_source(*mnemonic) && instruction.source_register == rsp)) return std::nullopt;
  return instruction;
}

}  // namespace

bool Instruction::is_fence() const {
  if (mnemonic == Mnemonic::mfence) return true;
  const bool keeps_word = mnemonic == Mnemonic::or_ || mnemonic == Mnemonic::add ||
                          mnemonic == Mnemonic::xor_ || mnemonic == Mnemonic::sub;
  return keeps_word && source == Source::immediate && immediate == 0 && base == rsp && index == no_register &&
         segment == SegmentBase::none;
}

std::optional<Instruction> decode(const void* code, std::size_t available) noexcept {
  ZydisDecoder decoder;
  ZydisDecoderContext context;
  ZydisDecodedInstruction decoded;
  if (!initialize(decoder)) return std::nullopt;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, code, available, &decoded)))
    return std::nullopt;
  if (!is_candidate(decoded)) return std::nullopt;
  return describe(decoder, context, decoded);
}

bool may_be_atomic(const void* code) noexcept {
  const auto* byte = static_cast<const std::uint8_t*>(code);
  for (unsigned i = 0; i < instruction_bytes_max; ++i) {
    switch (byte[i]) {
      case 0xf0:
        return true;  // lock
      case 0x86:
      case 0x87:
        return true;  // xchg
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x64:
      case 0x65:
      case 0x66:
      case 0x67:
      case 0xf2:
      case 0xf3:
        break;
      default:
        if ((byte[i] & 0xf0) != 0x40) return false;  // not a REX prefix either
    }
  }
  return false;
}

std::size_t length(const void* code, std::size_t available) noexcept {
  if (const std::size_t common = common_length(code, available); common > 0) return common;
  ZydisDecoder decoder;
  ZydisDecodedInstruction decoded;
  const bool is_instruction = initialize(decoder) && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
                                                         &decoder, nullptr, code, available, &decoded));
  return is_instruction ? decoded.length : 0;
}

Sweep sweep(const void* code, std::size_t bytes, const SweepEvents& events) {
  Sweep result;
  ZydisDecoder decoder;
  if (!initialize(decoder)) return result;
  const auto* begin = static_cast<const std::uint8_t*>(code);
  ZydisDecoderContext context;
  ZydisDecodedInstruction decoded;
  Recent recent;
  for (std::size_t at = 0; at < bytes;) {
    if (const std::size_t length = common_length(begin + at, bytes - at); length > 0) {
      ++result.instructions;
      recent.add(at);
      at += length;
      continue;
    }
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, begin + at, bytes - at, &decoded))) {
      events.undecodable(at++);
      continue;
    }
    ++result.instructions;
    if (decoded.mnemonic == ZYDIS_MNEMONIC_NOP && decoded.length > 1) {
      events.padding(at, decoded.length);
    } else if (is_candidate(decoded)) {
      if (const std::optional<Instruction> instruction = describe(decoder, context, decoded)) {
        events.atomic(at, *instruction, recent);
      } else {
        ++result.unsupported;
      }
    }
    recent.add(at);
    at += decoded.length;
  }
  return result;
}

}  // namespace musubi::atomics::x86_64
