// Programs that hand data over by plain flags (docs/decisions/plain_flags.md).
//
// A thread writes data, then sets a flag by a plain store, and goes on; another one flushes until it sees the
// flag. No instruction of the writer tells that anything is to be released (the pipelines of LU in NAS are
// written so, and x86 processors keep the order). What the reader has is its flush, and the fault by which it
// gets the flag. So while flushes are in use in the job
// - a release is announced before it begins, and its end after the data is out;
// - bytes that came from another rank are shown to the program only when an acquire has ended that began
//   after they had come: it waits for the releases announced until then, lest the flag be there and the data
//   not, and acquires the signatures of all other ranks. (The clock covers them, too, but by its time alone:
//   every copy would have to be looked at.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/task.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "sync/clock.h"
#include "sync/lock_table.h"
#include "sync/signature_reader.h"

namespace musubi::sync {

// One object per rank; any thread.
class FlagOrder {
 public:
  // Words of each rank in the control region.
  static constexpr std::size_t word_count = 3;

  // The words lie at `offset` in the control region of each rank, and the own ones, zero at start, at `own`.
  // The signatures: as SignatureReader.
  FlagOrder(fabric::Fabric& fabric, coherence::Protocol& protocol, Clock& clock, std::byte* own,
            std::uint64_t offset, std::uint64_t signature_offset, std::size_t notices_max);

  // Whether some rank has flushed lately, counted in barriers.
  bool in_use() const noexcept { return word(credit).load(std::memory_order_relaxed) != 0; }
  // The program has flushes: in use from the beginning. Before its first instruction.
  void expect() noexcept;

  // `siblings`: other threads of this rank may run program code before the task ends.
  //
  // Releases everything by the clock.
  Task<> release(bool siblings);
  // Releases, and acquires what came along with any bytes that are here already.
  Task<> flush(bool siblings);
  // LockTable::unlock(), which brings blocks out in any order. Releases the rest behind it.
  Task<> unlock(LockTable& locks, LockId lock, bool siblings);
  // Protocol::modify(), which brings a block out with the flags that may lie there, and then the rest.
  Task<> modify(BlockId block, coherence::Modification& modification, bool siblings);
  // Acquires what came along with any bytes that are here already.
  Task<> acquire(bool siblings);
  // As Protocol::fault(). REQUIRES: in use.
  Task<bool> fault(BlockId block, vm::Access wanted, bool siblings);
  // Before and after each barrier of the rank, while in use.
  Task<> before_barrier(bool siblings);
  Task<> after_barrier(bool siblings);

 private:
  enum Word : std::size_t {
    credit,  // barriers until flushes count as out of use
    begun,   // releases
    finished,
  };

  std::atomic_ref<std::uint64_t> word(Word which) const noexcept {
    return std::atomic_ref<std::uint64_t>(own_[which]);
  }
  Task<> release_announced(bool siblings);
  Task<> note_flush();
  Task<std::uint64_t> await_releases(Rank peer);
  Task<> acquire_from(Rank peer);
  Task<> acquire_in_order();
  Task<> acquire_what_shows();

  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  Clock& clock_;
  std::uint64_t* own_;
  std::uint64_t offset_;
  SignatureReader signatures_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> acquired_;  // sequence words of the others' signatures
};

}  // namespace musubi::sync
