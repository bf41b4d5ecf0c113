#include "ranges.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

namespace musubi::compiler {

Range range_of(const Access& access, llvm::ScalarEvolution& evolution) {
  const llvm::SCEV* address = evolution.getSCEV(access.pointer);
  const llvm::SCEV* base = evolution.getPointerBase(address);
  const llvm::SCEV* begin = nullptr;
  if (llvm::isa<llvm::SCEVUnknown>(base)) begin = evolution.removePointerBase(address);
  if (begin == nullptr || llvm::isa<llvm::SCEVCouldNotCompute>(begin)) base = nullptr;
  const llvm::SCEV* end = base == nullptr ? nullptr : evolution.getAddExpr(begin, access.bytes);
  Range range{access.writes,         access.whole,
              /*is_one=*/true,
              /*conditional=*/false,
              /*optional=*/false,    base,         begin, end, access.instruction, nullptr, {}, {}, {}, {},
              {access.instruction},  {},           {},    {}};
  // An intrinsic of some length is a range already.
  if (base != nullptr && access.is_intrinsic) {
    const auto* bytes = llvm::dyn_cast<llvm::SCEVConstant>(access.bytes);
    range.is_one = bytes != nullptr && bytes->getAPInt().slt(kShortestHint);
  }
  return range;
}

int64_t constant_bytes(const Range& range, llvm::ScalarEvolution& evolution) {
  const auto* bytes = llvm::dyn_cast<llvm::SCEVConstant>(evolution.getMinusSCEV(range.end, range.begin));
  return bytes == nullptr ? -1 : bytes->getAPInt().getSExtValue();
}

}  // namespace musubi::compiler
