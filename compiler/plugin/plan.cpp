#include "plan.h"

#include <numeric>

#include "filter.h"
#include "fuse.h"
#include "hoist.h"
#include "llvm/IR/IntrinsicInst.h"
#include "overwritten.h"
#include "sequence.h"

namespace musubi::compiler {

namespace {

class Planner {
 public:
  explicit Planner(const Analyses& analyses)
      : analyses_(analyses), hoister_(analyses.evolution, analyses.dominators) {}

  Plan plan(llvm::Function& function);

 private:
  void append(llvm::Instruction& instruction, std::vector<Range>& ranges);
  std::vector<Range> out_of(llvm::Loop& loop);
  bool should_stay(const Range& range, const Range& hoisted);
  void stay(Range range, llvm::StringRef reason);
  void leave(const Range& range, llvm::StringRef reason);
  void finish();
  bool is_checked(bool writes) const { return compiler::is_checked(analyses_.mode, writes); }

  const Analyses& analyses_;
  Hoister hoister_;
  Filter filter_;
  Plan plan_;
};

// Appends the ranges of the instruction's accesses to memory that may be shared.
void Planner::append(llvm::Instruction& instruction, std::vector<Range>& ranges) {
  llvm::SmallVector<Access, 2> accesses;
  append_accesses(instruction, analyses_.evolution, accesses);
  Range source{};
  const Range* source_if_any = nullptr;
  for (const Access& access : accesses) {
    Range range = range_of(access, analyses_.evolution);
    if (!access.writes && accesses.size() > 1) {
      source = range;
      source_if_any = &source;
    }
    if (filter_.is_private(*access.pointer)) continue;
    if (range.base == nullptr) {
      leave(range, "the address is chosen among several pointers");
      continue;
    }
    if (range.writes) decide_overwritten(range, source_if_any);
    ranges.push_back(std::move(range));
  }
}

void Planner::leave(const Range& range, llvm::StringRef reason) {
  for (llvm::Instruction* access : range.accesses) plan_.left.push_back({access, range.writes, reason.str()});
}

void Planner::stay(Range range, llvm::StringRef reason) {
  if (range.is_one)
    leave(range, reason);
  else
    plan_.ranges.push_back(std::move(range));
}

// Whether a range that drops old bytes is better left where it does: farther out it would only be written.
bool Planner::should_stay(const Range& range, const Range& hoisted) {
  if (!range.whole || hoisted.whole || range.is_one) return false;
  const int64_t bytes = constant_bytes(range, analyses_.evolution);
  return bytes < 0 || bytes >= 2 * granule_bytes();
}

std::vector<Range> Planner::out_of(llvm::Loop& loop) {
  std::vector<Range> inside;
  for (llvm::BasicBlock* block : loop.blocks()) {
    if (analyses_.loops.getLoopFor(block) != &loop) continue;
    for (llvm::Instruction& instruction : *block) append(instruction, inside);
  }
  fuse(inside, /*at_blocks=*/true, analyses_.evolution);
  for (llvm::Loop* inner : loop) {
    std::vector<Range> before = out_of(*inner);
    inside.insert(inside.end(), std::make_move_iterator(before.begin()),
                  std::make_move_iterator(before.end()));
  }
  const LoopFacts facts = facts_of(loop, analyses_.evolution, analyses_.free);
  std::vector<Range> outside, sparse;
  std::vector<std::pair<size_t, Range>> origins;  // of each range outside
  for (Range& range : inside) {
    if (facts.last == nullptr) {
      stay(std::move(range), facts.hindrance);
      continue;
    }
    Hoisted hoisted = hoister_.out_of(facts, range, is_checked(range.writes));
    if (!hoisted.hindrance.empty()) {
      if (hoisted.is_sparse && !range.writes) sparse.push_back(hoisted.range);
      stay(std::move(range), hoisted.hindrance);
      continue;
    }
    const bool may_miss = hoisted.range.optional && !range.optional && !range.is_one;
    if (hoisted.may_be_sparse || (may_miss && is_checked(range.writes))) {
      // The inner range stays for the case that the outer one is left out at run time.
      hoisted.range.cover = std::make_shared<Cover>();
      range.covered_by.push_back(hoisted.range.cover);
    } else {
      // It takes the place of this one, also for those inside.
      hoisted.range.cover = range.cover;
    }
    outside.push_back(std::move(hoisted.range));
    origins.emplace_back(outside.size() - 1, std::move(range));
  }
  if (facts.last != nullptr) decide_overwritten(facts, outside, sparse, analyses_.aliases);
  std::vector<Range> leaving;
  for (auto& [index, origin] : origins) {
    Range& range = outside[index];
    if (should_stay(origin, range)) {
      origin.covered_by.clear();
      stay(std::move(origin), "");
      continue;
    }
    if (range.cover != origin.cover) plan_.ranges.push_back(std::move(origin));
    leaving.push_back(std::move(range));
  }
  fuse(leaving, /*at_blocks=*/false, analyses_.evolution);
  return leaving;
}

// Sorts, and drops the ranges that are shorter than a fault is dear.
void Planner::finish() {
  std::vector<Range> kept;
  for (Range& range : plan_.ranges) {
    const int64_t bytes = constant_bytes(range, analyses_.evolution);
    if (bytes >= 0 && bytes < (is_checked(range.writes) ? 1 : kShortestHint))
      leave(range, "the range is short: a fault costs no more");
    else
      kept.push_back(std::move(range));
  }
  const auto depth = [](const Range& range) {
    return range.loop == nullptr ? ~0U : range.loop->getLoopDepth();
  };
  std::vector<size_t> order(kept.size());
  std::iota(order.begin(), order.end(), size_t{0});
  llvm::sort(order,
             [&](size_t a, size_t b) { return std::pair(depth(kept[a]), a) < std::pair(depth(kept[b]), b); });
  plan_.ranges.clear();
  for (const size_t index : order) plan_.ranges.push_back(std::move(kept[index]));
}

Plan Planner::plan(llvm::Function& function) {
  std::vector<Range> outermost;
  for (llvm::Loop* loop : analyses_.loops) {
    std::vector<Range> before = out_of(*loop);
    plan_.ranges.insert(plan_.ranges.end(), std::make_move_iterator(before.begin()),
                        std::make_move_iterator(before.end()));
  }
  // Outside of loops, only intrinsics touch ranges.
  for (llvm::BasicBlock& block : function) {
    if (analyses_.loops.getLoopFor(&block) != nullptr) continue;
    for (llvm::Instruction& instruction : block)
      if (llvm::isa<llvm::MemIntrinsic>(instruction)) append(instruction, outermost);
  }
  for (Range& range : outermost)
    if (!range.is_one) plan_.ranges.push_back(std::move(range));
  finish();
  return std::move(plan_);
}

}  // namespace

Plan plan_ranges(llvm::Function& function, const Analyses& analyses) {
  return Planner(analyses).plan(function);
}

}  // namespace musubi::compiler
