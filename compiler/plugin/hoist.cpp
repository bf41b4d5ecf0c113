#include "hoist.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "sequence.h"

namespace musubi::compiler {

namespace {

// Longer expressions cost more before the loop than a fault.
constexpr unsigned kExpressionSizeMax = 160;
constexpr size_t kGuardsMax = 4;

bool is_too_long(const Range& range) {
  constexpr size_t rows_max = 4;
  bool too_long = range.rows.size() > rows_max || range.begin->getExpressionSize() > kExpressionSizeMax ||
                  range.end->getExpressionSize() > kExpressionSizeMax || range.guards.size() > kGuardsMax;
  for (const Guard& guard : range.guards)
    for (const Comparison& comparison : guard)
      too_long |= comparison.left->getExpressionSize() > kExpressionSizeMax ||
                  comparison.right->getExpressionSize() > kExpressionSizeMax;
  for (const Rows& rows : range.rows)
    for (const llvm::SCEV* last : rows.lasts) too_long |= last->getExpressionSize() > kExpressionSizeMax;
  return too_long;
}

}  // namespace

Hoisted Hoister::out_of(const LoopFacts& facts, const Range& range, bool checks) const {
  Hoisted hoisted{range, ""};
  if (!evolution_.isLoopInvariant(range.base, facts.loop)) {
    hoisted.hindrance = "the address comes from memory or a call in the loop";
    return hoisted;
  }
  hoisted.range.guards.clear();
  hoisted.range.covered_by.clear();
  hoisted.range.cover.reset();
  hoisted.range.apart.clear();
  hoisted.range.is_one = false;
  hoisted.range.only_density = false;
  hoisted.range.place = facts.loop->getLoopPreheader()->getTerminator();
  hoisted.range.loop = facts.loop;
  hoisted.range.dense.clear();
  hoisted.range.rows.clear();
  hoisted.hindrance = take_guards(facts, range, hoisted);
  if (hoisted.hindrance.empty()) hoisted.hindrance = take_hull(facts, range, hoisted);
  if (hoisted.hindrance.empty() && !hoisted.range.dense.empty()) take_rows(facts, range, checks, hoisted);
  if (hoisted.hindrance.empty() && is_too_long(hoisted.range))
    hoisted.hindrance = "the expressions of its bounds are too long";
  return hoisted;
}

llvm::StringRef Hoister::take_guards(const LoopFacts& facts, const Range& from, Hoisted& hoisted) const {
  Range& range = hoisted.range;
  // The branch that decides whether an inner loop has an iteration at all: its hull is empty otherwise.
  const llvm::BranchInst* of_inner = from.loop == nullptr ? nullptr : from.loop->getLoopGuardBranch();
  Conditions conditions =
      conditions_of(*from.place->getParent(), *facts.loop, of_inner, dominators_, evolution_);
  bool varies = false;
  if (!conditions.complete) varies = true;
  conditions.guards.append(from.guards.begin(), from.guards.end());
  for (const Guard& guard : conditions.guards) {
    GuardBefore before = guard_before(guard, *facts.loop, facts.last, evolution_);
    varies |= before.varies;
    if (!before.guard.empty()) {
      range.guards.push_back(std::move(before.guard));
      range.optional |= before.may_err;
      continue;
    }
    conditions.complete = false;
    varies = true;
  }
  // Density is no condition of accesses: the guard of one iteration serves.
  for (const Guard& guard : from.dense) {
    GuardBefore before = guard_before(guard, *facts.loop, facts.last, evolution_);
    if (before.guard.empty()) return "the stride changes in the loop";
    range.dense.push_back(std::move(before.guard));
  }
  hoisted.varies = varies;
  if (!varies) return "";
  range.whole = false;
  range.conditional = true;
  if (range.writes && (from.is_one || !conditions.only_of_branch || !conditions.complete))
    return "the write does not happen in each iteration";
  // The bounds of an inner loop mean nothing where its guard does not hold.
  if (!from.is_one && !conditions.complete) return "the inner loop does not run in each iteration";
  return "";
}

// The minimum of both ends, as a sum that is affine in an outer loop if the first end is and their distance
// does not change there.
const llvm::SCEV* Hoister::lower(const Ends& ends) const {
  if (evolution_.isKnownNonNegative(ends.step)) return ends.first;
  if (evolution_.isKnownNonPositive(ends.step)) return ends.last;
  return evolution_.getAddExpr(ends.first, evolution_.getSMinExpr(no_distance(ends), distance(ends)));
}

const llvm::SCEV* Hoister::upper(const Ends& ends) const {
  if (evolution_.isKnownNonNegative(ends.step)) return ends.last;
  if (evolution_.isKnownNonPositive(ends.step)) return ends.first;
  return evolution_.getAddExpr(ends.first, evolution_.getSMaxExpr(no_distance(ends), distance(ends)));
}

llvm::StringRef Hoister::take_hull(const LoopFacts& facts, const Range& from, Hoisted& hoisted) const {
  Range& range = hoisted.range;
  const Ends begin = ends_of(from.begin, *facts.loop, facts.last, evolution_);
  const Ends end = ends_of(from.end, *facts.loop, facts.last, evolution_);
  if (begin.step == nullptr || end.step == nullptr) return "the address is not affine in the loop";
  range.begin = lower(begin);
  range.end = upper(end);
  if (begin.step->isZero() && end.step->isZero()) return "";
  const llvm::SCEV* bytes;
  if (begin.step == end.step) {
    bytes = evolution_.getMinusSCEV(begin.first, end.first);
    bytes = evolution_.getNegativeSCEV(bytes);
  } else {  // a triangle
    bytes = evolution_.getSMaxExpr(evolution_.getMinusSCEV(end.first, begin.first),
                                   evolution_.getMinusSCEV(end.last, begin.last));
  }
  const llvm::SCEV* step = begin.step->isZero() ? end.step : begin.step;
  const llvm::SCEV* stride = evolution_.isKnownNonNegative(step)   ? step
                             : evolution_.isKnownNonPositive(step) ? evolution_.getNegativeSCEV(step)
                                                                   : evolution_.getAbsExpr(step, false);
  range.whole &= begin.step == end.step && stride == bytes;
  if (!llvm::isa<llvm::SCEVConstant>(step)) range.conditional |= from.conditional;
  return judge_stride(stride, bytes, hoisted);
}

llvm::StringRef Hoister::judge_stride(const llvm::SCEV* stride, const llvm::SCEV* bytes,
                                      Hoisted& hoisted) const {
  const llvm::SCEV* granule = evolution_.getConstant(stride->getType(), granule_bytes());
  const llvm::SCEV* twice = evolution_.getMulExpr(bytes, evolution_.getConstant(bytes->getType(), 2));
  const llvm::SCEV* limit = evolution_.getUMaxExpr(granule, twice);
  if (hoisted.range.whole || evolution_.isKnownPredicate(llvm::CmpInst::ICMP_ULE, stride, limit)) return "";
  hoisted.is_sparse = evolution_.isKnownPredicate(llvm::CmpInst::ICMP_UGT, stride, limit);
  if (hoisted.is_sparse) return "most of the bytes between two iterations are not touched";
  hoisted.range.dense.push_back({{llvm::CmpInst::ICMP_ULE, stride, limit}});
  return "";
}

// The rows before the loop of those in it: their loops run as often in each iteration, and meet rows of the
// same length.
std::optional<Rows> Hoister::rows_of(const LoopFacts& facts, Rows rows) const {
  const Ends begin = ends_of(rows.begin, *facts.loop, facts.last, evolution_);
  const Ends end = ends_of(rows.end, *facts.loop, facts.last, evolution_);
  if (begin.step == nullptr || begin.step != end.step) return std::nullopt;
  for (const llvm::SCEV* value : llvm::concat<const llvm::SCEV* const>(rows.steps, rows.lasts))
    if (!evolution_.isLoopInvariant(value, facts.loop)) return std::nullopt;
  rows.begin = begin.first;
  rows.end = end.first;
  if (begin.step->isZero()) return rows;
  rows.steps.push_back(begin.step);
  rows.lasts.push_back(evolution_.getTruncateOrZeroExtend(facts.last, begin.step->getType()));
  return rows;
}

// Gives a range that may be sparse its rows, or leaves it out where it is sparse: the range in the loop stays
// for that case, or single accesses have checks of their own.
void Hoister::take_rows(const LoopFacts& facts, const Range& from, bool checks, Hoisted& hoisted) const {
  llvm::SmallVector<Rows, 1> inner = from.rows;
  if (inner.empty()) inner.push_back({from.begin, from.end, {}, {}});
  const int64_t bytes = constant_bytes(from, evolution_);
  bool has_rows = !hoisted.varies && (checks || (!from.is_one && (bytes < 0 || bytes >= kShortestHint)));
  for (const Rows& rows : inner) {
    const std::optional<Rows> before = has_rows ? rows_of(facts, rows) : std::nullopt;
    has_rows = before.has_value();
    if (has_rows) hoisted.range.rows.push_back(*before);
  }
  if (has_rows) return;
  hoisted.range.rows.clear();
  hoisted.range.only_density = hoisted.range.guards.empty();
  hoisted.range.guards.append(hoisted.range.dense);
  hoisted.range.dense.clear();
  hoisted.range.optional = true;
  hoisted.may_be_sparse = !from.is_one;
}

}  // namespace musubi::compiler
