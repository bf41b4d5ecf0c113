#include "available.h"

#include <algorithm>

#include "llvm/IR/CFG.h"
#include "sequence.h"

namespace musubi::compiler {

std::optional<Interval> joined(const Interval& a, const Interval& b) {
  const Interval hull{std::min(a.begin, b.begin), std::max(a.end, b.end)};
  if (hull.end - hull.begin > granule_bytes()) return std::nullopt;
  return hull;
}

bool Facts::hold(unsigned key, const Interval& interval, Permission permission) const {
  const Intervals& stored = permission == Permission::store ? storable_ : writable_;
  const Intervals& intervals = permission == Permission::read ? readable_ : stored;
  const auto found = intervals.find(key);
  return found != intervals.end() && found->second.contains(interval);
}

void Facts::add_to(Intervals& intervals, unsigned key, const Interval& interval) {
  const auto [place, is_new] = intervals.try_emplace(key, interval);
  if (!is_new && !place->second.contains(interval))
    place->second = joined(place->second, interval).value_or(interval);
}

void Facts::add(unsigned key, const Interval& interval, Permission permission) {
  if (permission != Permission::store) add_to(readable_, key, interval);
  if (permission != Permission::read) add_to(storable_, key, interval);
  if (permission == Permission::write) add_to(writable_, key, interval);
}

void Facts::clear() {
  readable_.clear();
  storable_.clear();
  writable_.clear();
}

bool Facts::meet(Intervals& intervals, const Intervals& others) {
  bool changed = false;
  llvm::SmallVector<unsigned, 8> lost;
  for (auto& [key, interval] : intervals) {
    const auto other = others.find(key);
    if (other != others.end() && other->second.contains(interval)) continue;
    changed = true;
    if (other != others.end())
      interval = {std::max(interval.begin, other->second.begin), std::min(interval.end, other->second.end)};
    if (other == others.end() || interval.begin >= interval.end) lost.push_back(key);
  }
  for (const unsigned key : lost) intervals.erase(key);
  return changed;
}

bool Facts::meet(const Facts& other) {
  const bool readable = meet(readable_, other.readable_);
  const bool storable = meet(storable_, other.storable_);
  return meet(writable_, other.writable_) || readable || storable;
}

void apply(const Event& event, Facts& facts) {
  if (event.is_kill)
    facts.clear();
  else
    facts.add(event.key, event.interval, event.permission);
}

llvm::DenseMap<const llvm::BasicBlock*, Facts> facts_at_entries(
    llvm::ArrayRef<llvm::BasicBlock*> order, const llvm::DenseMap<const llvm::BasicBlock*, Flow>& flows) {
  llvm::DenseMap<const llvm::BasicBlock*, Facts> before, after;
  before[order.front()] = {};
  // Facts at entries only shrink, so that this ends; they agree with all ways when none shrinks any more.
  for (bool changed = true; changed;) {
    changed = false;
    for (const llvm::BasicBlock* block : order) {
      bool is_new = after.find(block) == after.end();
      for (const llvm::BasicBlock* way : llvm::predecessors(block)) {
        const auto facts = after.find(way);
        if (facts == after.end()) continue;  // not reached yet, or never
        const auto [place, is_first] = before.try_emplace(block, facts->second);
        is_new |= is_first || place->second.meet(facts->second);
      }
      if (!is_new) continue;
      Facts facts = before.find(block)->second;
      for (const Event& event : flows.find(block)->second) apply(event, facts);
      after[block] = std::move(facts);
      changed = true;
    }
  }
  return before;
}

}  // namespace musubi::compiler
