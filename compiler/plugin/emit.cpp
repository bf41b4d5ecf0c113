#include "emit.h"

#include "counts.h"
#include "covered.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
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

// The same of rows: those of the first one, and steps and last iterations of the loops.
struct RowBounds {
  Bounds first;
  llvm::SmallVector<Value*, 2> steps, lasts;
};

// All that a range computes.
struct Computed {
  Bounds hull;
  Value* holds;            // whether the guards do
  Value* dense = nullptr;  // null: it has no rows
  std::vector<RowBounds> rows;
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
  bool compute(Range& range, Computed& computed);
  void test(const Range& range, const Computed& computed);

 private:
  bool can_compute(const Range& range) const;
  Value* expand(const llvm::SCEV* expression, llvm::Type* type, llvm::Instruction* place) {
    return expander_.expandCodeFor(expression, type, place->getIterator());
  }
  Value* address_of(const llvm::SCEV* base, const llvm::SCEV* offset, llvm::Instruction* place);
  Value* frozen(const llvm::SCEV* expression, llvm::Instruction* place);
  Value* holds(const Guard& guard, llvm::Instruction* place);
  Value* holds(llvm::ArrayRef<Guard> guards, Value* so_far, llvm::Instruction* place);
  RowBounds compute(const Range& range, const Rows& rows);
  void test_hull(IRBuilder<>& builder, const Range& range, Bounds bounds);
  void test_rows(IRBuilder<>& builder, const Range& range, const RowBounds& rows);
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
  for (const Guard& guard : llvm::concat<const Guard>(range.guards, range.dense))
    for (const Comparison& comparison : guard)
      safe = safe && is_safe(comparison.left) && is_safe(comparison.right);
  for (const Rows& rows : range.rows) {
    safe = safe && is_safe(rows.begin) && is_safe(rows.end);
    for (const llvm::SCEV* value : llvm::concat<const llvm::SCEV* const>(rows.steps, rows.lasts))
      safe = safe && is_safe(value);
  }
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

Value* Emitter::holds(llvm::ArrayRef<Guard> guards, Value* so_far, llvm::Instruction* place) {
  for (const Guard& guard : guards) {
    Value* one = holds(guard, place);
    so_far = IRBuilder<>(place).CreateAnd(one, so_far);
  }
  return so_far;
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

Value* Emitter::frozen(const llvm::SCEV* expression, llvm::Instruction* place) {
  Value* value = expand(expression, word_, place);
  return llvm::isa<llvm::ConstantInt>(value) ? value : IRBuilder<>(place).CreateFreeze(value);
}

RowBounds Emitter::compute(const Range& range, const Rows& rows) {
  RowBounds bounds{{address_of(range.base, rows.begin, range.place),
                    frozen(evolution_.getMinusSCEV(rows.end, rows.begin), range.place)},
                   {},
                   {}};
  for (const llvm::SCEV* step : rows.steps) bounds.steps.push_back(frozen(step, range.place));
  for (const llvm::SCEV* last : rows.lasts) bounds.lasts.push_back(frozen(last, range.place));
  return bounds;
}

bool Emitter::compute(Range& range, Computed& computed) {
  if (!can_compute(range)) return false;
  Bounds& bounds = computed.hull;
  Value*& holds_all = computed.holds;
  bounds.address = address_of(range.base, range.begin, range.place);
  bounds.bytes = frozen(evolution_.getMinusSCEV(range.end, range.begin), range.place);
  IRBuilder<> builder(range.place);
  // A length below the shortest range may be negative: the loop has no iteration then.
  holds_all = is_checked(mode_, range.writes)
                  ? builder.getTrue()
                  : builder.CreateICmpSGE(bounds.bytes, sequence_.number(kShortestHint));
  holds_all = holds(range.guards, holds_all, range.place);
  if (range.cover) range.cover->holds = holds_all;
  for (const auto& cover : range.covered_by) {
    if (cover->holds == nullptr) continue;
    IRBuilder<> at_place(range.place);
    holds_all = at_place.CreateAnd(at_place.CreateNot(cover->holds), holds_all);
  }
  if (!range.rows.empty()) computed.dense = holds(range.dense, builder.getTrue(), range.place);
  for (const Rows& rows : range.rows) computed.rows.push_back(compute(range, rows));
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

void Emitter::test(const Range& range, const Computed& computed) {
  IRBuilder<> builder(range.place);
  if (!llvm::isa<llvm::ConstantInt>(computed.holds)) {
    count(builder, Counted::guard);
    sequence_.branch(builder, computed.holds, /*is_rare=*/false);
  }
  if (computed.dense == nullptr) return test_hull(builder, range, computed.hull);
  llvm::Instruction* of_hull = nullptr;
  llvm::Instruction* of_rows = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(computed.dense, &*builder.GetInsertPoint(), &of_hull, &of_rows);
  for (const RowBounds& rows : computed.rows) {
    builder.SetInsertPoint(of_rows);
    test_rows(builder, range, rows);
  }
  builder.SetInsertPoint(of_hull);
  test_hull(builder, range, computed.hull);
}

// The outermost loop is the last one.
void Emitter::test_rows(IRBuilder<>& builder, const Range& range, const RowBounds& rows) {
  Bounds bounds = rows.first;
  for (size_t i = rows.steps.size(); i-- > 0;) {
    Value* count = builder.CreateAdd(rows.lasts[i], sequence_.number(1));
    auto [place, iteration] = llvm::SplitBlockAndInsertSimpleForLoop(count, &*builder.GetInsertPoint());
    builder.SetInsertPoint(place);
    bounds.address = builder.CreateAdd(bounds.address, builder.CreateMul(iteration, rows.steps[i]));
  }
  test_hull(builder, range, bounds);
}

void Emitter::test_hull(IRBuilder<>& builder, const Range& range, Bounds bounds) {
  count(builder, range.writes ? Counted::write_range : Counted::read_range);
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
  std::vector<Computed> values;
  {
    Emitter emitter(function, evolution, mode);
    for (Range& range : ranges) {
      Computed computed{};
      if (!emitter.compute(range, computed)) continue;
      emitted.push_back(range);
      values.push_back(std::move(computed));
    }
    for (size_t i = 0; i < emitted.size(); ++i) emitter.test(emitted[i], values[i]);
  }
  for (const Range& range : emitted) mark(range, mode);
  if (!emitted.empty()) drop_promises(&function);
  ranges = std::move(emitted);
}

}  // namespace musubi::compiler
