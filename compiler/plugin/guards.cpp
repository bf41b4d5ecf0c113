#include "guards.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/PatternMatch.h"

namespace musubi::compiler {

namespace {

using llvm::dyn_cast;
using llvm::isa;

constexpr size_t kComparisonsMax = 4;

// Appends the guards that hold if `condition` is `sense`. Result: false if they are not all of it.
bool append_guards(llvm::Value* condition, bool sense, llvm::ScalarEvolution& evolution,
                   llvm::SmallVectorImpl<Guard>& guards) {
  using llvm::PatternMatch::m_LogicalAnd;
  using llvm::PatternMatch::m_LogicalOr;
  using llvm::PatternMatch::m_Value;
  llvm::Value *left, *right;
  if (sense ? llvm::PatternMatch::match(condition, m_LogicalAnd(m_Value(left), m_Value(right)))
            : llvm::PatternMatch::match(condition, m_LogicalOr(m_Value(left), m_Value(right)))) {
    const bool first = append_guards(left, sense, evolution, guards);
    return append_guards(right, sense, evolution, guards) && first;
  }
  if (auto* compare = dyn_cast<llvm::ICmpInst>(condition)) {
    if (!evolution.isSCEVable(compare->getOperand(0)->getType())) return false;
    guards.push_back(
        {{sense ? compare->getPredicate() : compare->getInversePredicate(),
          evolution.getSCEV(compare->getOperand(0)), evolution.getSCEV(compare->getOperand(1))}});
    return true;
  }
  const llvm::SCEV* value = evolution.getSCEV(condition);
  guards.push_back({{sense ? llvm::CmpInst::ICMP_NE : llvm::CmpInst::ICMP_EQ, value,
                     evolution.getZero(condition->getType())}});
  return true;
}

// Whether a side may leave the range of its integers, as the comparison reads them, while the loop runs.
bool may_wrap(const Comparison& comparison) {
  const auto keeps = [&](llvm::SCEV::NoWrapFlags flag) {
    for (const llvm::SCEV* side : {comparison.left, comparison.right}) {
      const auto* recurrence = dyn_cast<llvm::SCEVAddRecExpr>(side);
      if (recurrence != nullptr && recurrence->getNoWrapFlags(flag) == llvm::SCEV::FlagAnyWrap) return false;
    }
    return true;
  };
  if (llvm::CmpInst::isSigned(comparison.predicate)) return !keeps(llvm::SCEV::FlagNSW);
  if (llvm::CmpInst::isUnsigned(comparison.predicate)) return !keeps(llvm::SCEV::FlagNUW);
  return !keeps(llvm::SCEV::FlagNSW) && !keeps(llvm::SCEV::FlagNUW);
}

}  // namespace

Ends ends_of(const llvm::SCEV* value, llvm::Loop& loop, const llvm::SCEV* last_iteration,
             llvm::ScalarEvolution& evolution) {
  if (evolution.isLoopInvariant(value, &loop)) {
    llvm::Type* type = evolution.getEffectiveSCEVType(value->getType());
    return {value, value, evolution.getZero(type)};
  }
  const auto* recurrence = dyn_cast<llvm::SCEVAddRecExpr>(value);
  if (recurrence == nullptr || recurrence->getLoop() != &loop || !recurrence->isAffine())
    return {nullptr, nullptr, nullptr};
  return {recurrence->getStart(), recurrence->evaluateAtIteration(last_iteration, evolution),
          recurrence->getStepRecurrence(evolution)};
}

Conditions conditions_of(llvm::BasicBlock& block, llvm::Loop& loop, const llvm::BranchInst* allowed,
                         const llvm::DominatorTree& dominators, llvm::ScalarEvolution& evolution) {
  Conditions conditions;
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  for (const llvm::BasicBlock* inner = &block; !dominators.dominates(inner, latch);) {
    const llvm::BasicBlock* outer = dominators.getNode(inner)->getIDom()->getBlock();
    const auto* branch = dyn_cast<llvm::BranchInst>(outer->getTerminator());
    bool known = false;
    if (branch != nullptr && branch->isConditional()) {
      for (unsigned side : {0U, 1U}) {
        const llvm::BasicBlockEdge edge(outer, branch->getSuccessor(side));
        if (!dominators.dominates(edge, inner)) continue;
        known = append_guards(branch->getCondition(), side == 0, evolution, conditions.guards);
        break;
      }
    }
    conditions.complete &= known;
    conditions.only_of_branch &= branch != nullptr && branch == allowed;
    inner = outer;
  }
  return conditions;
}

GuardBefore guard_before(const Guard& guard, llvm::Loop& loop, const llvm::SCEV* last_iteration,
                         llvm::ScalarEvolution& evolution) {
  GuardBefore before;
  for (const Comparison& comparison : guard) {
    const Ends left = ends_of(comparison.left, loop, last_iteration, evolution);
    const Ends right = ends_of(comparison.right, loop, last_iteration, evolution);
    if (left.step == nullptr || right.step == nullptr) return {};
    if (left.step->isZero() && right.step->isZero()) {
      before.guard.push_back(comparison);
      continue;
    }
    // An order between two affine values that holds in the middle holds at one of the ends; equality need
    // not.
    before.varies = true;
    if (comparison.predicate == llvm::CmpInst::ICMP_EQ) return {};
    before.may_err |= may_wrap(comparison);
    before.guard.push_back({comparison.predicate, left.first, right.first});
    before.guard.push_back({comparison.predicate, left.last, right.last});
  }
  if (before.guard.size() > kComparisonsMax) return {};
  return before;
}

}  // namespace musubi::compiler
