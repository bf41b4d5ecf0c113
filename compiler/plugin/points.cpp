#include "points.h"

#include "available.h"
#include "covered.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Function.h"
#include "sequence.h"
#include "unwritten.h"

namespace musubi::compiler {

namespace {

using llvm::SCEV;

// A check serves later blocks up to this hull: it may meet one granule more than its own access.
constexpr int64_t kWidestHull = 256;
constexpr size_t kSameKeyMax = 64;

// Larger functions have facts within blocks only.
constexpr size_t kFactsMax = size_t{1} << 22;

// An address as a part that a key stands for, plus a number.
struct Split {
  const SCEV* rest;
  int64_t number;
};

Split split(const SCEV* address, llvm::ScalarEvolution& evolution) {
  if (const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(address))
    return {evolution.getZero(address->getType()), constant->getAPInt().getSExtValue()};
  if (const auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(address)) {
    Split all{nullptr, 0};
    llvm::SmallVector<const SCEV*, 4> rests;
    for (const SCEV* part : sum->operands()) {
      const Split one = split(part, evolution);
      all.number += one.number;
      rests.push_back(one.rest);
    }
    all.rest = evolution.getAddExpr(rests);
    return all;
  }
  const auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(address);
  if (recurrence == nullptr) return {address, 0};
  const Split start = split(recurrence->getStart(), evolution);
  llvm::SmallVector<const SCEV*, 4> parts(recurrence->operands());
  parts.front() = start.rest;
  return {evolution.getAddRecExpr(parts, recurrence->getLoop(), SCEV::FlagAnyWrap), start.number};
}

class PointPlanner {
 public:
  PointPlanner(llvm::Function& function, const PointAnalyses& analyses)
      : analyses_(analyses), order_(blocks_of(function)) {}

  std::vector<Point> plan();

 private:
  // A touch, or a kill, in the order of its block.
  struct Item {
    Touch touch;
    bool needs_check;  // memory that may be shared, of a kind that the mode checks, and not covered
    size_t event;      // of its flow; for a kind without an interval, that of the next one
    bool has_event;
    int64_t begin;      // of the touch, from its key on
    unsigned compared;  // words of the value that a store compares, if it has no permission to write
  };

  static std::vector<llvm::BasicBlock*> blocks_of(llvm::Function& function) {
    const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
    return {order.begin(), order.end()};
  }
  void find(llvm::BasicBlock& block);
  void add(const Touch& touch, Flow& flow, std::vector<Item>& items);
  static void settle(Flow& flow);
  unsigned key_of(const SCEV* rest);
  void hoist_out_of(llvm::Loop& loop);
  void widen();
  bool surely_follows(const llvm::BasicBlock* block, const llvm::BasicBlock* first) const;
  void plan(llvm::BasicBlock& block, Facts facts);
  static Point hull_of(size_t index, const std::vector<Item>& items, const Flow& flow, const Facts& facts,
                       Event& checked);

  const PointAnalyses& analyses_;
  Filter filter_;
  std::vector<llvm::BasicBlock*> order_;
  llvm::DenseMap<const SCEV*, unsigned> keys_;
  llvm::DenseMap<const llvm::BasicBlock*, Flow> flows_;
  llvm::DenseMap<const llvm::BasicBlock*, std::vector<Item>> items_;
  std::vector<Point> points_;
};

unsigned PointPlanner::key_of(const SCEV* rest) {
  return keys_.try_emplace(rest, keys_.size()).first->second;
}

void PointPlanner::add(const Touch& touch, Flow& flow, std::vector<Item>& items) {
  if (!is_checked(analyses_.mode, touch.writes)) return;
  const bool is_plain = touch.kind == Touch::Kind::bytes;
  if (touch.kind != Touch::Kind::gathered && filter_.is_private(*touch.pointer)) return;
  const bool needs_check = !is_covered(*touch.instruction, touch.writes);
  items.push_back({touch, needs_check, flow.size(), is_plain, 0, 0});
  if (!is_plain) return;
  const Split address = split(analyses_.evolution.getSCEV(touch.pointer), analyses_.evolution);
  items.back().begin = address.number;
  const Interval interval{address.number, address.number + static_cast<int64_t>(touch.bytes)};
  Permission permission = permission_for(touch.writes);
  if (is_plain && needs_check && analyses_.home_only && may_store(touch)) {
    permission = Permission::store;
    items.back().compared = words_to_compare(*llvm::cast<llvm::StoreInst>(touch.instruction));
  }
  flow.push_back({false, key_of(address.rest), interval, permission});
}

// Lets a store write where the code until the next kill reads or writes the same granule: the runtime has to
// fetch it in any case, and the comparison is saved.
void PointPlanner::settle(Flow& flow) {
  llvm::DenseMap<unsigned, llvm::SmallVector<Interval, 2>> fetched;
  for (auto begin = flow.begin(); begin != flow.end();) {
    const auto end = std::find_if(begin, flow.end(), [](const Event& event) { return event.is_kill; });
    fetched.clear();
    for (const Event& event : llvm::make_range(begin, end))
      if (event.permission != Permission::store) fetched[event.key].push_back(event.interval);
    for (Event& event : llvm::make_range(begin, end)) {
      const auto others = fetched.find(event.key);
      if (event.permission != Permission::store || others == fetched.end()) continue;
      const auto is_near = [&](const Interval& other) { return joined(event.interval, other).has_value(); };
      if (llvm::any_of(others->second, is_near)) event.permission = Permission::write;
    }
    begin = end == flow.end() ? end : end + 1;
  }
}

void PointPlanner::find(llvm::BasicBlock& block) {
  Flow flow;
  std::vector<Item> items;
  llvm::SmallVector<Touch, 4> touches;
  for (llvm::Instruction& instruction : block) {
    if (is_entry(instruction)) continue;
    touches.clear();
    append_touches(instruction, analyses_.library, touches);
    for (const Touch& touch : touches) add(touch, flow, items);
    if (analyses_.free.kills(instruction)) flow.push_back({true, 0, {0, 0}, Permission::read});
  }
  settle(flow);
  flows_[&block] = std::move(flow);
  items_[&block] = std::move(items);
}

// Makes `checked`, the touch's event, that of its neighbours up to the next kill too, as far as one granule
// holds them. A read that is written next is checked for the write.
Point PointPlanner::hull_of(size_t index, const std::vector<Item>& items, const Flow& flow,
                            const Facts& facts, Event& checked) {
  const Item& first = items[index];
  const Event& own = flow[first.event];
  size_t end = first.event;
  while (end < flow.size() && !flow[end].is_kill) ++end;
  const auto for_neighbours = [&](auto&& take) {
    for (size_t i = index + 1; i < items.size() && items[i].event < end; ++i) {
      const Event& event = flow[items[i].event];
      if (items[i].has_event && items[i].needs_check && event.key == own.key) take(event);
    }
  };
  for_neighbours([&](const Event& event) {
    if (event.permission == Permission::write && checked.permission == Permission::read &&
        event.interval.contains(own.interval))
      checked = event;
  });
  for_neighbours([&](const Event& event) {
    if (event.permission != checked.permission || facts.hold(event.key, event.interval, event.permission))
      return;
    checked.interval = joined(checked.interval, event.interval).value_or(checked.interval);
  });
  return {first.touch, checked.interval.begin - first.begin,
          static_cast<uint64_t>(checked.interval.end - checked.interval.begin), checked.permission};
}

void PointPlanner::plan(llvm::BasicBlock& block, Facts facts) {
  const Flow& flow = flows_[&block];
  const std::vector<Item>& items = items_[&block];
  size_t next = 0;
  for (size_t index = 0; index < items.size(); ++index) {
    const Item& item = items[index];
    for (; next < item.event; ++next) apply(flow[next], facts);
    if (!item.needs_check) continue;
    if (!item.has_event) {
      points_.push_back({item.touch, 0, item.touch.bytes, permission_for(item.touch.writes)});
      continue;
    }
    Event checked = flow[item.event];
    // A granule that is readable has been fetched: to write it saves the comparison.
    if (checked.permission == Permission::store &&
        facts.hold(checked.key, checked.interval, Permission::read))
      checked.permission = Permission::write;
    const bool compares = checked.permission == Permission::store && item.compared != 0 &&
                          !facts.hold(checked.key, checked.interval, Permission::write);
    if (!facts.hold(checked.key, checked.interval, checked.permission)) {
      points_.push_back(hull_of(index, items, flow, facts, checked));
      apply(checked, facts);
    }
    if (compares) points_.push_back({item.touch, 0, 0, Permission::write, item.compared});
  }
}

// Checks of a loop's first block that are the same in all iterations come before the loop, if threads cannot
// meet in it. Code that may end before the access could have judged the address, which may be none then.
void PointPlanner::hoist_out_of(llvm::Loop& loop) {
  for (llvm::Loop* inner : loop) hoist_out_of(*inner);
  llvm::BasicBlock* before = loop.getLoopPreheader();
  if (before == nullptr) return;
  for (const llvm::BasicBlock* block : loop.blocks())
    if (llvm::any_of(flows_[block], [](const Event& event) { return event.is_kill; })) return;
  const std::vector<Item> items = items_[loop.getHeader()];
  const auto end = llvm::find_if(*loop.getHeader(), [](const llvm::Instruction& instruction) {
    return !llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction);
  });
  for (const Item& item : items) {
    if (end != loop.getHeader()->end() && end->comesBefore(item.touch.instruction)) return;
    if (!item.needs_check || !item.has_event) continue;
    // The sum of a pointer and a constant may still lie in the loop.
    llvm::APInt offset(64, 0);
    llvm::Value* base = item.touch.pointer->stripAndAccumulateConstantOffsets(
        loop.getHeader()->getDataLayout(), offset, /*AllowNonInbounds=*/true);
    if (!loop.isLoopInvariant(base)) continue;
    Item earlier = item;
    earlier.touch.instruction = before->getTerminator();
    earlier.touch.pointer = base;
    earlier.touch.align = llvm::commonAlignment(item.touch.align, offset.abs().getZExtValue());
    earlier.begin -= offset.getSExtValue();
    earlier.compared = 0;
    earlier.event = flows_[before].size();
    flows_[before].push_back(Event(flows_[loop.getHeader()][item.event]));
    items_[before].push_back(earlier);
  }
}

bool PointPlanner::surely_follows(const llvm::BasicBlock* block, const llvm::BasicBlock* first) const {
  return block != first && analyses_.dominators.dominates(first, block) &&
         analyses_.post_dominators.dominates(block, first);
}

// Lets a check serve the touches next to its own that surely follow in other blocks: their events agree then.
void PointPlanner::widen() {
  llvm::DenseMap<std::pair<unsigned, unsigned>, std::vector<std::pair<llvm::BasicBlock*, size_t>>> by_key;
  for (llvm::BasicBlock* block : order_) {
    for (const Item& item : items_[block]) {
      if (!item.needs_check || !item.has_event) continue;
      const Event& event = flows_[block][item.event];
      by_key[{event.key, static_cast<unsigned>(event.permission)}].emplace_back(block, item.event);
    }
  }
  for (const auto& [key, touches] : by_key) {
    if (touches.size() > kSameKeyMax) continue;
    for (const auto& [block, number] : touches) {
      Interval& interval = flows_[block][number].interval;
      for (const auto& [other, other_number] : touches) {
        const auto hull = joined(interval, flows_[other][other_number].interval);
        if (hull && hull->end - hull->begin <= kWidestHull && surely_follows(other, block)) interval = *hull;
      }
    }
  }
}

std::vector<Point> PointPlanner::plan() {
  for (llvm::BasicBlock* block : order_) find(*block);
  for (llvm::Loop* loop : analyses_.loops) hoist_out_of(*loop);
  widen();
  llvm::DenseMap<const llvm::BasicBlock*, Facts> entries;
  if (keys_.size() * order_.size() <= kFactsMax) entries = facts_at_entries(order_, flows_);
  for (llvm::BasicBlock* block : order_) plan(*block, entries.lookup(block));
  return std::move(points_);
}

}  // namespace

std::vector<Point> plan_points(llvm::Function& function, const PointAnalyses& analyses) {
  return PointPlanner(function, analyses).plan();
}

}  // namespace musubi::compiler
