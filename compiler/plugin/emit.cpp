#include "emit.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace musubi::compiler {

namespace {

using llvm::IRBuilder;
using llvm::Value;

// A load of 8 states may reach 7 bytes beyond the last granule of a range.
constexpr uint64_t kStatesPerLoad = 8;
constexpr uint64_t kGranules = uint64_t{1} << (MUSUBI_CHECKS_ADDRESS_BITS - kGranuleShift);

// The values of a range, computed before its place. None is poison: a bound that means nothing where a guard
// does not hold must not make the branches meaningless too.
struct Bounds {
  Value* address;
  Value* bytes;
  Value* overwrites = nullptr;  // whether the old bytes may be dropped; null: no
};

class Emitter {
 public:
  Emitter(llvm::Function& function, llvm::ScalarEvolution& evolution)
      : evolution_(evolution),
        expander_(evolution, function.getDataLayout(), "musubi"),
        word_(llvm::Type::getInt64Ty(function.getContext())),
        pointer_(llvm::PointerType::getUnqual(function.getContext())) {}

  // Computes bounds and guards. Result: false if they cannot be computed at the place.
  bool compute(Range& range, Bounds& bounds, Value*& holds);
  void test(const Range& range, const Bounds& bounds, Value* holds);

 private:
  bool can_compute(const Range& range) const;
  Value* expand(const llvm::SCEV* expression, llvm::Type* type, llvm::Instruction* place) {
    return expander_.expandCodeFor(expression, type, place->getIterator());
  }
  Value* address_of(const llvm::SCEV* base, const llvm::SCEV* offset, llvm::Instruction* place);
  Value* holds(const Guard& guard, llvm::Instruction* place);
  Value* is_apart(const Extent& extent, const Bounds& bounds, llvm::Instruction* place);
  Value* is_closed(IRBuilder<>& builder, const Range& range, Value* first, Value* last);
  void call(IRBuilder<>& builder, const Range& range, const Bounds& bounds);
  Value* entry(IRBuilder<>& builder, unsigned number);

  llvm::ScalarEvolution& evolution_;
  llvm::SCEVExpander expander_;
  llvm::Type* word_;
  llvm::Type* pointer_;
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
  Value* start = expand(base, pointer_, place);
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
  bounds.bytes = builder.CreateFreeze(length);
  // A length below the shortest range may be negative: the loop has no iteration then.
  holds_all = builder.CreateICmpSGE(bounds.bytes, llvm::ConstantInt::get(word_, kShortestRange));
  for (const Guard& guard : range.guards) {
    Value* one = holds(guard, range.place);
    holds_all = IRBuilder<>(range.place).CreateAnd(holds_all, one);
  }
  if (range.cover) range.cover->holds = holds_all;
  for (const auto& cover : range.covered_by) {
    if (cover->holds == nullptr) continue;
    IRBuilder<> at_place(range.place);
    holds_all = at_place.CreateAnd(holds_all, at_place.CreateNot(cover->holds));
  }
  if (!range.whole) return true;
  bounds.overwrites = llvm::ConstantInt::getTrue(range.place->getContext());
  for (const Extent& extent : range.apart) {
    Value* apart = is_apart(extent, bounds, range.place);
    bounds.overwrites = IRBuilder<>(range.place).CreateAnd(bounds.overwrites, apart);
  }
  return true;
}

// Whether a granule from `first` to `last` is closed; true if they are too many to look at here.
Value* Emitter::is_closed(IRBuilder<>& builder, const Range& range, Value* first, Value* last) {
  const uint64_t bit = range.writes ? MUSUBI_CHECKS_NOT_WRITABLE : MUSUBI_CHECKS_NOT_READABLE;
  const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(word_, value); };
  Value* more = builder.CreateSub(last, first);
  Value* states = builder.CreateAlignedLoad(
      word_, builder.CreateIntToPtr(builder.CreateAdd(first, number(MUSUBI_CHECKS_TABLE)), pointer_),
      llvm::Align(1), "musubi.states");
  // Shifts out the states of granules after the last.
  Value* after =
      builder.CreateAnd(builder.CreateSub(number(kStatesPerLoad - 1), more), number(kStatesPerLoad - 1));
  states = builder.CreateShl(states, builder.CreateMul(after, number(8)));
  Value* closed =
      builder.CreateICmpNE(builder.CreateAnd(states, number(bit * 0x0101010101010101)), number(0));
  Value* many = builder.CreateICmpUGE(more, number(kStatesPerLoad));
  return builder.CreateOr(many, closed);
}

Value* Emitter::entry(IRBuilder<>& builder, unsigned number) {
  Value* slot = llvm::ConstantInt::get(word_, MUSUBI_CHECKS_PAGE + 8 * uint64_t{number});
  return builder.CreateIntToPtr(slot, pointer_);
}

void Emitter::call(IRBuilder<>& builder, const Range& range, const Bounds& bounds) {
  Value* slot =
      entry(builder, range.writes ? MUSUBI_CHECKS_ENTRY_WRITE_RANGE : MUSUBI_CHECKS_ENTRY_READ_RANGE);
  if (bounds.overwrites != nullptr)
    slot = builder.CreateSelect(bounds.overwrites, entry(builder, MUSUBI_CHECKS_ENTRY_OVERWRITE), slot);
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {word_, word_}, false);
  llvm::CallInst* call =
      builder.CreateCall(type, builder.CreateLoad(pointer_, slot), {bounds.address, bounds.bytes});
  // Preserves all registers but r11, as src/checks/abi.h promises.
  call->setCallingConv(llvm::CallingConv::PreserveAll);
  call->setDoesNotThrow();
  // Pages keep hints from being wrong, so accesses may move over them; over a drop of bytes they may not.
  if (bounds.overwrites == nullptr) call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
}

void Emitter::test(const Range& range, const Bounds& bounds, Value* holds) {
  llvm::MDNode* rare = llvm::MDBuilder(range.place->getContext()).createUnlikelyBranchWeights();
  const auto then = [&](Value* condition, llvm::Instruction* before, llvm::MDNode* weights) {
    return llvm::SplitBlockAndInsertIfThen(condition, before->getIterator(), false, weights);
  };
  IRBuilder<> builder(then(holds, range.place, nullptr));
  const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(word_, value); };
  Value* end = builder.CreateAdd(bounds.address, builder.CreateSub(bounds.bytes, number(1)));
  Value* first = builder.CreateLShr(bounds.address, number(kGranuleShift));
  Value* last = builder.CreateLShr(end, number(kGranuleShift));
  // Computed bounds of accesses that do not happen may be no addresses: the table ends at 2^47.
  Value* in_order = builder.CreateICmpULE(bounds.address, end);
  Value* below = builder.CreateICmpULT(last, number(kGranules - kStatesPerLoad));
  Value* inside = builder.CreateAnd(in_order, below);
  builder.SetInsertPoint(then(inside, &*builder.GetInsertPoint(), nullptr));
  Value* closed = is_closed(builder, range, first, last);
  builder.SetInsertPoint(then(closed, &*builder.GetInsertPoint(), rare));
  call(builder, range, bounds);
}

// Functions and calls that promised to leave memory alone reach the tests now.
void drop_promises(llvm::Function& changed) {
  llvm::AttributeMask promises;
  promises.addAttribute(llvm::Attribute::Memory)
      .addAttribute(llvm::Attribute::NoSync)
      .addAttribute(llvm::Attribute::Speculatable);
  llvm::SmallVector<llvm::Function*> open = {&changed};
  llvm::SmallPtrSet<llvm::Function*, 8> seen = {&changed};
  while (!open.empty()) {
    llvm::Function* function = open.pop_back_val();
    function->removeFnAttrs(promises);
    for (llvm::User* user : function->users()) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call == nullptr) continue;
      call->removeFnAttrs(promises);
      if (seen.insert(call->getFunction()).second) open.push_back(call->getFunction());
    }
  }
}

}  // namespace

void emit(llvm::Function& function, std::vector<Range>& ranges, llvm::ScalarEvolution& evolution) {
  std::vector<Range> emitted;
  std::vector<std::pair<Bounds, Value*>> values;
  {
    Emitter emitter(function, evolution);
    for (Range& range : ranges) {
      Bounds bounds{};
      Value* holds = nullptr;
      if (!emitter.compute(range, bounds, holds)) continue;
      emitted.push_back(range);
      values.emplace_back(bounds, holds);
    }
    for (size_t i = 0; i < emitted.size(); ++i) emitter.test(emitted[i], values[i].first, values[i].second);
  }
  if (!emitted.empty()) drop_promises(function);
  ranges = std::move(emitted);
}

}  // namespace musubi::compiler
