#include <Zydis/Zydis.h>

#include "atomics/store.h"
#include "atomics/x86_64_instruction.h"

namespace musubi::atomics {
namespace {

bool is_scalar_float(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_MOVSS || mnemonic == ZYDIS_MNEMONIC_MOVSD ||
         mnemonic == ZYDIS_MNEMONIC_VMOVSS || mnemonic == ZYDIS_MNEMONIC_VMOVSD;
}

// Only general registers, those of the x87, and none.
bool is_plain_source(const ZydisDecodedOperand& operand) {
  if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return true;
  switch (ZydisRegisterGetClass(operand.reg.value)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
    case ZYDIS_REGCLASS_X87:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::size_t store_bytes(const void* code) noexcept {
  ZydisDecoder decoder;
  ZydisDecoderContext context;
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT_VISIBLE];
  if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
      !ZYAN_SUCCESS(
          ZydisDecoderDecodeInstruction(&decoder, &context, code, x86_64::instruction_bytes_max, &decoded)) ||
      (decoded.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || decoded.mnemonic == ZYDIS_MNEMONIC_XCHG ||
      !ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &decoded, operands,
                                               decoded.operand_count_visible))) {
    return 0;
  }
  std::size_t bytes = 0;
  bool plain = true;
  for (unsigned i = 0; i < decoded.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) {
      bytes = operand.size / 8;
    } else if (!is_plain_source(operand)) {
      plain = false;
    }
  }
  const bool is_width = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  return is_width && (plain || is_scalar_float(decoded.mnemonic)) ? bytes : 0;
}

}  // namespace musubi::atomics
