#pragma once

#include <optional>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/BasicBlock.h"
#include "permission.h"

namespace musubi::compiler {

// Bytes from an address that a number stands for, the key.
struct Interval {
  int64_t begin;
  int64_t end;

  bool contains(const Interval& other) const { return begin <= other.begin && other.end <= end; }
};

// The hull of two intervals, if it is a granule at most: then all of it may be touched if both may, for each
// granule that it meets holds one of its ends.
std::optional<Interval> joined(const Interval& a, const Interval& b);

// Bytes that may be read (stored, written) at a place of the program, because code before it checked them or
// touched them and no kill came after. One interval per key and kind.
class Facts {
 public:
  bool hold(unsigned key, const Interval& interval, Permission permission) const;
  void add(unsigned key, const Interval& interval, Permission permission);
  void clear();
  // Keeps the facts that `other` has too. Result: whether anything was lost.
  bool meet(const Facts& other);

 private:
  using Intervals = llvm::DenseMap<unsigned, Interval>;
  static void add_to(Intervals& intervals, unsigned key, const Interval& interval);
  static bool meet(Intervals& intervals, const Intervals& others);

  Intervals readable_, storable_;  // all that is writable too
  Intervals writable_;
};

// The effect of an instruction on facts: it touches an interval, or it is a kill.
struct Event {
  bool is_kill;
  unsigned key;
  Interval interval;
  Permission permission;
};

using Flow = std::vector<Event>;  // in the order of the block

// The facts at the beginning of each block of a function, by a must-analysis forward: the greatest solution,
// in which all ways to the block agree. A key that stands for another address in each iteration of a loop has
// none where the iteration begins, for the first way to that place met no touch of it. `order` is the reverse
// postorder, with the function's entry first.
llvm::DenseMap<const llvm::BasicBlock*, Facts> facts_at_entries(
    llvm::ArrayRef<llvm::BasicBlock*> order, const llvm::DenseMap<const llvm::BasicBlock*, Flow>& flows);

// Applies one event.
void apply(const Event& event, Facts& facts);

}  // namespace musubi::compiler
