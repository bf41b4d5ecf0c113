#include "fuse.h"

#include <optional>

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "sequence.h"

namespace musubi::compiler {

namespace {

// `of` minus `from`, if it is a constant.
std::optional<int64_t> distance(const llvm::SCEV* from, const llvm::SCEV* of,
                                llvm::ScalarEvolution& evolution) {
  if (from == of) return 0;
  const auto* difference = llvm::dyn_cast<llvm::SCEVConstant>(evolution.getMinusSCEV(of, from));
  if (difference == nullptr) return std::nullopt;
  return difference->getAPInt().getSExtValue();
}

// How far the bounds of `other` lie from those of `range`, if both distances are constants.
struct Shift {
  int64_t begin;
  int64_t end;
};

std::optional<Shift> shift_of(const Range& range, const Range& other, llvm::ScalarEvolution& evolution) {
  const auto begin = distance(range.begin, other.begin, evolution);
  const auto end = distance(range.end, other.end, evolution);
  if (!begin || !end) return std::nullopt;
  return Shift{*begin, *end};
}

// Whether no byte lies between the two.
bool do_touch(const Range& range, const Range& other, llvm::ScalarEvolution& evolution) {
  const auto after = distance(range.end, other.begin, evolution);
  const auto before = distance(other.end, range.begin, evolution);
  return after && before && *after <= 0 && *before <= 0;
}

bool can_join(const Range& range, const Range& other, const Shift& shift, llvm::ScalarEvolution& evolution) {
  if (!range.writes)
    return std::abs(shift.begin) <= granule_bytes() && std::abs(shift.end) <= granule_bytes();
  if (range.whole != other.whole) return false;
  return (shift.begin == 0 && shift.end == 0) || do_touch(range, other, evolution);
}

// Adds `other` to `range` if one range can stand for both.
bool join(Range& range, const Range& other, llvm::ScalarEvolution& evolution) {
  if (range.writes != other.writes || range.base != other.base || range.guards != other.guards ||
      range.covered_by != other.covered_by || range.cover != other.cover || range.is_one != other.is_one ||
      range.dense != other.dense)
    return false;
  const auto shift = shift_of(range, other, evolution);
  if (!shift || !can_join(range, other, *shift, evolution)) return false;
  if (shift->begin < 0) range.begin = other.begin;
  if (shift->end > 0) range.end = other.end;
  range.conditional |= other.conditional;
  range.optional |= other.optional;
  range.reads.append(other.reads.begin(), other.reads.end());
  range.accesses.append(other.accesses.begin(), other.accesses.end());
  range.apart.append(other.apart.begin(), other.apart.end());
  for (const Rows& rows : other.rows)
    if (!llvm::is_contained(range.rows, rows)) range.rows.push_back(rows);
  return true;
}

// A read of bytes that the same place makes writable needs nothing of its own. Whole writes stay apart: the
// read wants the old bytes.
bool take_over(Range& write, const Range& read, llvm::ScalarEvolution& evolution) {
  if (!write.writes || read.writes || write.whole || write.is_one || write.base != read.base ||
      write.guards != read.guards || write.covered_by != read.covered_by || write.cover != read.cover ||
      write.dense != read.dense || write.rows != read.rows)
    return false;
  const auto shift = shift_of(write, read, evolution);
  if (!shift || shift->begin < 0 || shift->end > 0) return false;
  write.reads.append(read.accesses.begin(), read.accesses.end());
  return true;
}

}  // namespace

void fuse(std::vector<Range>& ranges, bool at_blocks, llvm::ScalarEvolution& evolution) {
  const auto is_same_place = [&](const Range& a, const Range& b) {
    if (!at_blocks) return a.place == b.place;
    // A copy of some length keeps its place: the bytes that it overwrites may be read between it and the
    // next.
    return a.is_one && b.is_one && a.place->getParent() == b.place->getParent();
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < ranges.size(); ++i) {
      for (size_t k = ranges.size(); k-- > 0;) {
        if (k == i || !is_same_place(ranges[i], ranges[k])) continue;
        const bool absorbed =
            (k > i && join(ranges[i], ranges[k], evolution)) || take_over(ranges[i], ranges[k], evolution);
        if (!absorbed) continue;
        ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(k));
        if (k < i) --i;
        changed = true;
      }
    }
  }
}

}  // namespace musubi::compiler
