#pragma once

#include <memory>

#include "access.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"

namespace musubi::compiler {

// A comparison of integers or addresses.
struct Comparison {
  llvm::CmpInst::Predicate predicate;
  const llvm::SCEV* left;
  const llvm::SCEV* right;

  bool operator==(const Comparison& other) const {
    return predicate == other.predicate && left == other.left && right == other.right;
  }
};

// Holds if one of the comparisons does.
using Guard = llvm::SmallVector<Comparison, 2>;

// Bytes at base + [begin, end).
struct Extent {
  const llvm::SCEV* base;
  const llvm::SCEV* begin;
  const llvm::SCEV* end;
};

// Parts of a range as a nest of loops meets them: base + [begin, end) + i * step + ..., with a step for each
// loop, for i from 0 to `last`.
struct Rows {
  const llvm::SCEV* begin;
  const llvm::SCEV* end;
  llvm::SmallVector<const llvm::SCEV*, 2> steps;
  llvm::SmallVector<const llvm::SCEV*, 2> lasts;

  bool operator==(const Rows& other) const {
    return begin == other.begin && end == other.end && steps == other.steps && lasts == other.lasts;
  }
};

// Set when a range is emitted: whether its guards held, and so whether the ranges inside it are covered.
struct Cover {
  llvm::Value* holds = nullptr;
};

// A hull of bytes at one place of the function: [base + begin, base + end). It is empty if end <= begin, and
// says nothing if a guard does not hold. If one of `dense` fails, its rows stand for it, one by one.
struct Range {
  bool writes;
  bool whole;        // a write of every byte of the hull, if the guards hold
  bool is_one;       // one access, not yet coalesced over a loop
  bool conditional;  // reads that may not happen
  bool optional;     // a guard about its density may leave it out although its accesses happen
  const llvm::SCEV* base;
  const llvm::SCEV* begin;  // offsets, integers of 64 bits, signed
  const llvm::SCEV* end;
  llvm::Instruction* place;  // the range is known before it
  llvm::Loop* loop;          // the loop that follows the place; null before an intrinsic
  llvm::SmallVector<Guard, 2> guards;
  llvm::SmallVector<std::shared_ptr<Cover>, 1> covered_by;
  std::shared_ptr<Cover> cover;
  llvm::SmallVector<Extent, 2> apart;  // a whole range overwrites only if it overlaps none of these
  llvm::SmallVector<llvm::Instruction*, 4> accesses;
  llvm::SmallVector<llvm::Instruction*, 2> reads;  // that a write range has taken over
  llvm::SmallVector<Guard, 1> dense;
  llvm::SmallVector<Rows, 1> rows;
  bool only_density = false;  // its guards are about its density alone: its bounds hold where they fail, too
};

// The range of one access. A base of null says that the address is not one pointer plus an offset.
Range range_of(const Access& access, llvm::ScalarEvolution& evolution);

// The constant number of bytes of the hull, or -1.
int64_t constant_bytes(const Range& range, llvm::ScalarEvolution& evolution);

// Hints shorter than this are left to page faults: a fault costs as much as the fetch of one block by name.
inline constexpr int64_t kShortestHint = 512;

}  // namespace musubi::compiler
