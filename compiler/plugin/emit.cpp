#include "emit.h"

#include "covered.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include "promises.h"
#include "sequence.h"

namespace musubi::compiler {

namespace {

using llvm::IRBuilder;
using llvm::Value;

// The values of a range, computed before its place. None is poison: a bound that means nothing where a guard
// does not hold must not make the branches meaningless too.
struct Bounds {
  Value* address;
  Value* bytes;
  Value* overwrites = nullptr;  // whether the old bytes may be dropped; null: no
};

class Emitter {
 public:
  Emitter(llvm::Function& function, llvm::ScalarEvolution& evolution, Mode mode)
      : evolution_(evolution),
        expander_(evolution, function.getDataLayout(), "musubi"),
        sequence_(function.getContext()),
        word_(sequence_.word()),
        mode_(mode) {}

  // Computes bounds and guards. Result: false if they cannot be computed at the place.
  bool compute(Range& range, Bounds& bounds, Value*& holds);
  void test(const Range& range, Bounds bounds, Value* holds);

 private:
  bool can_compute(const Range& range) const;
  Value* expand(const llvm::SCEV* expression, llvm::Type* type, llvm::Instruction* place) {
    return expander_.expandCodeFor(expression, type, place->getIterator());
  }
  Value* address_of(const llvm::SCEV* base, const llvm::SCEV* offset, llvm::Instruction* place);
  Value* holds(const Guard& guard, llvm::Instruction* place);
  Value* is_apart(const Extent& extent, const Bounds& bounds, llvm::Instruction* place);
  Value* is_inside(IRBuilder<>& builder, const Range& range, Bounds& bounds, Value*& end);
  void call(IRBuilder<>& builder, const Range& range, const Bounds& bounds);

  llvm::ScalarEvolution& evolution_;
  llvm::SCEVExpander expander_;
  Sequence sequence_;
  llvm::Type* word_;
  Mode mode_;
};

bool Emitter::can_compute(const Range& range) const {
  const auto is_safe = [&](const llvm::SCEV* expression) {
    return expander_.isSafeToExpandAt(expression, range.place);
  };
  bool safe = is_safe(range.base) && is_safe(range.begin) && is_safe(range.end);
  for (const Guard& guard : range.guards)
    for (const Comparison& comparison : guard)
      safe = safe && is_safe(comparison.left) && is_safe(comparison.right);
  for (const Extent& extent : range.apart)
    safe = safe && is_safe(extent.base) && is_safe(extent.begin) && is_safe(extent.end);
  return safe;
}

Value* Emitter::address_of(const llvm::SCEV* base, const llvm::SCEV* offset, llvm::Instruction* place) {
  Value* start = expand(base, sequence_.pointer(), place);
  Value* distance = expand(offset, word_, place);
  IRBuilder<> builder(place);
  return builder.CreateFreeze(builder.CreateAdd(builder.CreatePtrToInt(start, word_), distance));
}

Value* Emitter::holds(const Guard& guard, llvm::Instruction* place) {
  Value* any = nullptr;
  for (const Comparison& comparison : guard) {
    Value* left = expand(comparison.left, comparison.left->getType(), place);
    Value* right = expand(comparison.right, comparison.right->getType(), place);
    IRBuilder<> builder(place);
    Value* one = builder.CreateFreeze(builder.CreateICmp(comparison.predicate, left, right));
    any = any == nullptr ? one : builder.CreateOr(any, one);
  }
  return any;
}

// Both extents have at least one byte where the result matters.
Value* Emitter::is_apart(const Extent& extent, const Bounds& bounds, llvm::Instruction* place) {
  Value* begin = address_of(extent.base, extent.begin, place);
  Value* end = address_of(extent.base, extent.end, place);
  IRBuilder<> builder(place);
  Value* bounds_end = builder.CreateAdd(bounds.address, bounds.bytes);
  Value* before = builder.CreateICmpULE(end, bounds.address);
  Value* after = builder.CreateICmpULE(bounds_end, begin);
  return builder.CreateOr(before, after);
}

bool Emitter::compute(Range& range, Bounds& bounds, Value*& holds_all) {
  if (!can_compute(range)) return false;
  bounds.address = address_of(range.base, range.begin, range.place);
  const llvm::SCEV* bytes = evolution_.getMinusSCEV(range.end, range.begin);
  Value* length = expand(bytes, word_, range.place);
  IRBuilder<> builder(range.place);
  bounds.bytes = llvm::isa<llvm::ConstantInt>(length) ? length : builder.CreateFreeze(length);
  // A length below the shortest range may be negative: the loop has no iteration then.
  holds_all = is_checked(mode_, range.writes)
                  ? builder.getTrue()
                  : builder.CreateICmpSGE(bounds.bytes, sequence_.number(kShortestHint));
  for (const Guard& guard : range.guards) {
    Value* one = holds(guard, range.place);
    holds_all = IRBuilder<>(range.place).CreateAnd(one, holds_all);
  }
  if (range.cover) range.cover->holds = holds_all;
  for (const auto& cover : range.covered_by) {
    if (cover->holds == nullptr) continue;
    IRBuilder<> at_place(range.place);
    holds_all = at_place.CreateAnd(at_place.CreateNot(cover->holds), holds_all);
  }
  if (!range.whole) return true;
  bounds.overwrites = llvm::ConstantInt::getTrue(range.place->getContext());
  for (const Extent& extent : range.apart) {
    Value* apart = is_apart(extent, bounds, range.place);
    bounds.overwrites = IRBuilder<>(range.place).CreateAnd(bounds.overwrites, apart);
  }
  return true;
}

// Loads may move over hints, and stores over no call that may not return.
Effects effects_of(Mode mode, bool drops_bytes) {
  return drops_bytes || mode == Mode::udsm ? Effects::all : Effects::none;
}

// The type of all accesses of the range, as far as alias analysis knows one; otherwise null.
llvm::MDNode* common_type(const Range& range) {
  llvm::MDNode* type = range.accesses.front()->getMetadata(llvm::LLVMContext::MD_tbaa);
  for (const llvm::Instruction* access :
       llvm::concat<llvm::Instruction* const>(range.accesses, range.reads)) {
    llvm::MDNode* other = access->getMetadata(llvm::LLVMContext::MD_tbaa);
    type = type == nullptr || other == nullptr ? nullptr : llvm::MDNode::getMostGenericTBAA(type, other);
  }
  return type;
}

// Computed bounds may be no addresses, where some accesses do not happen: the table ends at 2^47. A hint goes
// by then; a check keeps the addresses, for other accesses of the range may happen.
Value* Emitter::is_inside(IRBuilder<>& builder, const Range& range, Bounds& bounds, Value*& end) {
  Value* limit = sequence_.number(address_limit());
  end = builder.CreateAdd(bounds.address, bounds.bytes);
  if (!is_checked(mode_, range.writes)) {
    Value* in_order = builder.CreateICmpULT(bounds.address, end);
    return builder.CreateAnd(in_order, builder.CreateICmpULE(end, limit));
  }
  bounds.address = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bounds.address, sequence_.number(0));
  end = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, limit);
  bounds.bytes = builder.CreateSub(end, bounds.address);
  return builder.CreateICmpSLT(bounds.address, end);
}

void Emitter::test(const Range& range, Bounds bounds, Value* holds) {
  IRBuilder<> builder(range.place);
  if (!llvm::isa<llvm::ConstantInt>(holds)) sequence_.branch(builder, holds, /*is_rare=*/false);
  Value* closed;
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(bounds.bytes);
  if (constant != nullptr && is_checked(mode_, range.writes) && constant->getValue().sle(granule_bytes())) {
    // Both ends of a short range that begins at an address are tested. One that begins elsewhere holds none
    // that could be shared: neither the first page is, nor the last granules are.
    Value* limit = sequence_.number(address_limit() - granule_bytes());
    sequence_.branch(builder, builder.CreateICmpULT(bounds.address, limit), /*is_rare=*/false);
    Value* last = builder.CreateAdd(bounds.address, sequence_.number(constant->getZExtValue() - 1));
    Value* states = sequence_.states(builder, bounds.address, last);
    closed = sequence_.is_closed(builder, states, permission_for(range.writes));
  } else {
    Value* end = nullptr;
    sequence_.branch(builder, is_inside(builder, range, bounds, end), /*is_rare=*/false);
    Value* first = builder.CreateLShr(bounds.address, granule_shift());
    Value* last = builder.CreateLShr(builder.CreateSub(end, sequence_.number(1)), granule_shift());
    closed = sequence_.is_closed(builder, first, last, range.writes);
  }
  sequence_.branch(builder, closed, /*is_rare=*/true);
  call(builder, range, bounds);
}

void Emitter::call(IRBuilder<>& builder, const Range& range, const Bounds& bounds) {
  Value* slot = sequence_.slot(
      builder, range.writes ? MUSUBI_CHECKS_ENTRY_WRITE_RANGE : MUSUBI_CHECKS_ENTRY_READ_RANGE);
  const bool drops_bytes = bounds.overwrites != nullptr;
  if (drops_bytes)
    slot =
        builder.CreateSelect(bounds.overwrites, sequence_.slot(builder, MUSUBI_CHECKS_ENTRY_OVERWRITE), slot);
  llvm::CallInst* call =
      sequence_.call(builder, slot, {bounds.address, bounds.bytes}, effects_of(mode_, drops_bytes));
  if (!drops_bytes) call->setMetadata(llvm::LLVMContext::MD_tbaa, common_type(range));
}

// Marks the accesses that the range has checked whenever they happen.
void mark(const Range& range, Mode mode) {
  if (range.optional) return;
  if (is_checked(mode, range.writes))
    for (llvm::Instruction* access : range.accesses) mark_covered(*access, range.writes);
  if (is_checked(mode, /*writes=*/false))
    for (llvm::Instruction* access : range.reads) mark_covered(*access, /*writes=*/false);
}

}  // namespace

void emit(llvm::Function& function, std::vector<Range>& ranges, llvm::ScalarEvolution& evolution, Mode mode) {
  std::vector<Range> emitted;
  std::vector<std::pair<Bounds, Value*>> values;
  {
    Emitter emitter(function, evolution, mode);
    for (Range& range : ranges) {
      Bounds bounds{};
      Value* holds = nullptr;
      if (!emitter.compute(range, bounds, holds)) continue;
      emitted.push_back(range);
      values.emplace_back(bounds, holds);
    }
    for (size_t i = 0; i < emitted.size(); ++i) emitter.test(emitted[i], values[i].first, values[i].second);
  }
  for (const Range& range : emitted) mark(range, mode);
  if (!emitted.empty()) drop_promises(&function);
  ranges = std::move(emitted);
}

}  // namespace musubi::compiler
