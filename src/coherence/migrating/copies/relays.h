// Public copies of other ranks: where a reader asks for one. The rank that wrote a version serves few readers
// itself and sends all further ones to these, which send on in turn; each reader remembers where it was
// served (docs/decisions/readers.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/task.h"
#include "coherence/migrating/copies/line_copies.h"
#include "coherence/migrating/for_others/reads.h"
#include "coherence/migrating/ground/ground.h"

namespace musubi::coherence::migrating {

class Relays {
 public:
  Relays(Ground& ground, LineCopies& lines) : ground_(ground), lines_(lines) {}

  // Brings the public copy of the version `wanted`, or of a newer one, to `target`; `writer` has made it.
  // `sent_to`: a reader that the home has named. Result: the giver; none: the copy is not to be had, and the
  // block's home has to be asked.
  Task<std::optional<Giver>> fetch(HeldBlock& b, LogicalTime wanted, Rank writer, std::byte* target,
                                   std::optional<Rank> sent_to = std::nullopt);
  // The reader that this rank asks first; none: the writer.
  std::optional<Rank> parent(BlockId id) const;
  // Whether other ranks ask this one for the block, whose version `coming` is about to replace the one here:
  // they want a public copy of it.
  bool has_readers(const HeldBlock& b, LogicalTime coming) const;

  // Many ranks may read the same blocks at the same time from now on: this rank has left a barrier. After
  // another kind of acquire it is most likely alone. Any thread.
  void set_in_crowd(bool in_crowd) { in_crowd_.store(in_crowd, std::memory_order_relaxed); }
  bool is_in_crowd() const { return are_used() && in_crowd_.load(std::memory_order_relaxed); }

 private:
  Task<fabric::Verdict> ask(HeldBlock& b, const CopyRequest& request, Rank rank, std::byte* target,
                            CopyResult* result);
  void remember(BlockId id, Rank rank, Rank writer);
  bool are_used() const { return ground_.home_side.places != 0; }
  std::byte* region() const { return reinterpret_cast<std::byte*>(ground_.store.memory().words); }
  RelayLayout layout() const { return ground_.home_side.layout.relays(); }
  RelayRecord& record(BlockId id) const;
  std::atomic_ref<std::uint64_t> parent_word(BlockId id) const;

  Ground& ground_;
  LineCopies& lines_;
  std::atomic<bool> in_crowd_{false};
};

}  // namespace musubi::coherence::migrating
