#include "unwritten.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/KnownBits.h"
#include "src/checks/abi.h"

namespace musubi::compiler {

namespace {

using llvm::dyn_cast;
using llvm::isa;
using llvm::Value;

constexpr unsigned kWordBits = 32, kBothWords = 3, kDepthMax = 6, kWaysMax = 4;

unsigned words_of(const llvm::APInt& bits) {
  unsigned words = 0;
  for (unsigned i = 0; i < bits.getBitWidth() / kWordBits; ++i)
    if (bits.extractBitsAsZExtValue(kWordBits, i * kWordBits) == MUSUBI_CHECKS_UNWRITTEN) words |= 1U << i;
  return words;
}

unsigned words_of(const llvm::KnownBits& known) {
  unsigned words = 0;
  for (unsigned i = 0; i < known.getBitWidth() / kWordBits; ++i) {
    const uint64_t zero = known.Zero.extractBitsAsZExtValue(kWordBits, i * kWordBits);
    const uint64_t one = known.One.extractBitsAsZExtValue(kWordBits, i * kWordBits);
    if ((zero & MUSUBI_CHECKS_UNWRITTEN) == 0 && (one & ~uint64_t{MUSUBI_CHECKS_UNWRITTEN}) == 0)
      words |= 1U << i;
  }
  return words;
}

// Whether a pass after this one may make one of its operands from the operation, a NaN with all its bits.
bool may_become_operand(const llvm::Instruction& operation) {
  if (operation.hasAllowReassoc()) return true;
  return llvm::any_of(operation.operands(), [](const Value* operand) {
    const auto* number = dyn_cast<llvm::ConstantFP>(operand);
    const bool is_other = number != nullptr && !number->isZero() && !number->isExactlyValue(1.0) &&
                          !number->isExactlyValue(-1.0);
    return isa<llvm::Constant>(operand) && !isa<llvm::Function>(operand) && !is_other;
  });
}

// Whether the processor computes the value: its NaNs are quiet.
bool is_computed(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
      return !may_become_operand(instruction);
    default:
      break;
  }
  const auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (intrinsic == nullptr) return false;
  switch (intrinsic->getIntrinsicID()) {
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
      return !may_become_operand(instruction);
    default:
      return false;
  }
}

// The words of a conversion to a double that may be UNWRITTEN. Integers give no NaN; few bits leave the last
// one of the double 0.
unsigned words_of_conversion(const llvm::CastInst& conversion) {
  constexpr unsigned fraction_bits = 52;
  llvm::Type* from = conversion.getSrcTy();
  if (isa<llvm::FPExtInst>(conversion)) return from->isFloatTy() ? 0 : kBothWords;
  if (!isa<llvm::SIToFPInst, llvm::UIToFPInst>(conversion)) return kBothWords;
  return from->isIntegerTy() && from->getIntegerBitWidth() <= fraction_bits ? 0 : 1;
}

unsigned words_of_number(const Value* value, unsigned depth);

unsigned words_of_any(llvm::iterator_range<llvm::User::const_op_iterator> values, unsigned depth) {
  unsigned words = 0;
  for (const Value* value : values) words |= words_of_number(value, depth);
  return words;
}

// Of a double. The depth ends loops of phis.
unsigned words_of_number(const Value* value, unsigned depth) {
  if (const auto* constant = dyn_cast<llvm::ConstantFP>(value))
    return words_of(constant->getValueAPF().bitcastToAPInt());
  const auto* instruction = dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == kDepthMax) return kBothWords;
  if (isa<llvm::SelectInst>(instruction))
    return words_of_any(llvm::drop_begin(instruction->operands()), depth + 1);
  if (isa<llvm::PHINode>(instruction) && instruction->getNumOperands() <= kWaysMax)
    return words_of_any(instruction->operands(), depth + 1);
  if (const auto* conversion = dyn_cast<llvm::CastInst>(instruction)) return words_of_conversion(*conversion);
  // A quiet NaN differs from UNWRITTEN in the high word, and nothing is known about the low one.
  return is_computed(*instruction) ? 1 : kBothWords;
}

}  // namespace

bool may_store(const Touch& touch) {
  const auto* store = dyn_cast<llvm::StoreInst>(touch.instruction);
  if (store == nullptr || !store->isSimple() || !touch.writes) return false;
  const Value* value = store->getValueOperand();
  const llvm::Type* type = value->getType();
  const uint64_t bits = store->getDataLayout().getTypeSizeInBits(value->getType()).getKnownMinValue();
  if (!type->isIntegerTy() && !type->isFloatTy() && !type->isDoubleTy() && !type->isPointerTy()) return false;
  if ((bits != kWordBits && bits != 2 * kWordBits) || touch.align.value() * 8 < bits) return false;
  if (isa<llvm::UndefValue>(value)) return false;  // any value, at each look another one
  const auto* number = dyn_cast<llvm::ConstantInt>(value);
  const auto* real = dyn_cast<llvm::ConstantFP>(value);
  if (number != nullptr) return words_of(number->getValue()) == 0;
  return real == nullptr || words_of(real->getValueAPF().bitcastToAPInt()) == 0;
}

unsigned words_to_compare(const llvm::StoreInst& store) {
  const Value* value = store.getValueOperand();
  const llvm::DataLayout& layout = store.getDataLayout();
  if (value->getType()->isDoubleTy()) return words_of_number(value, 0);
  if (const auto* constant = dyn_cast<llvm::ConstantFP>(value))
    return words_of(constant->getValueAPF().bitcastToAPInt());
  // A NaN of 4 bytes may come out of arithmetic as it went in.
  if (value->getType()->isFloatTy()) return isa<llvm::SIToFPInst, llvm::UIToFPInst>(value) ? 0 : 1;
  return words_of(llvm::computeKnownBits(value, layout, /*Depth=*/0, /*AC=*/nullptr, &store));
}

}  // namespace musubi::compiler
