// Few bytes, at both ends (reads.h is between them): the request of a reader, the use of the lines received,
// and the notes that the home of a block with readers keeps of its changes.
#pragma once

#include <cstddef>
#include <span>

#include "coherence/core/change_record.h"
#include "coherence/core/line_mask.h"
#include "coherence/core/version.h"
#include "coherence/migrating/for_others/reads.h"
#include "coherence/migrating/ground/ground.h"

namespace musubi::coherence::migrating {

class LineCopies {
 public:
  explicit LineCopies(Ground& ground) : ground_(ground) {}

  // The request of this rank. `room`: for lines.
  LinesWanted wanted(const HeldBlock& b, std::size_t room) const;
  // Makes `target` of the bytes here and the lines received. `target`: the private bytes, if these are closed
  // and have no changes of this rank, or another place. REQUIRES: they were asked for under this pass of the
  // gate.
  void lay(const HeldBlock& b, std::byte* target, const LineMask& lines, std::span<const std::byte> bytes);

  // At the home, under the block's lock. Whether other ranks read the block: then the next changes to its
  // public copy, which has version `found`, are worth noting.
  bool are_worth_noting(const HeldBlock& b, Version found) const;
  // At the home: whether releases compare so much that a comparison of this block costs more than it saves.
  // Blocks whose readers ask for lines are compared all the same.
  bool comparison_costs(const HeldBlock& b) const {
    return ground_.comparison_cost.is_high() && !are_worth_comparing(b);
  }
  // The public copy has the version that the words of the block name; `lines` have changed since `found`.
  // Before the end of the critical section.
  void note(const HeldBlock& b, Version found, const LineMask& lines) const;

  // For answers with lines.
  BufferPool& answers() { return answers_; }

 private:
  bool has_base(const HeldBlock& b) const;
  bool are_worth_comparing(const HeldBlock& b) const { return board(b).is_worth_comparing(b.id); }
  ChangeBoard board(const HeldBlock& b) const;

  Ground& ground_;
  BufferPool answers_{sizeof(fabric::CallEnd) + fabric::call_result_bytes_max};
};

}  // namespace musubi::coherence::migrating
