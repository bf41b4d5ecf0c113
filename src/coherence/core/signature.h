// The own signature of a rank: a bounded set of write notices, at most one per block, and the minimum write
// timestamp (paper TS, section 3.3). It lies in registered memory: a rank that takes a lock from this one
// reads it, as a whole by one-sided gets, or the notices added since its last look by a call
// (sync/signature_reader.h). A sequence word tells the reader whether it saw one state of the signature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/spin_lock.h"
#include "coherence/core/notice.h"
#include "hooks/hooks.h"

namespace musubi::coherence {

// As it lies in registered memory; room for notices follows, then for a stamp of each.
struct SignatureBoard {
  std::uint64_t sequence;  // odd while being changed
  LogicalTime minimum;
  std::uint64_t count;
  std::uint64_t stamp;  // as of the last change: no notice has a later one
};
static_assert(sizeof(SignatureBoard) == 32);

// The front of a board, with so many notices.
inline constexpr std::size_t notice_bytes(std::size_t notices) {
  return sizeof(SignatureBoard) + notices * sizeof(Notice);
}
// A whole board.
inline constexpr std::size_t signature_bytes(std::size_t notices_max) {
  return notice_bytes(notices_max) + notices_max * sizeof(std::uint64_t);
}

class Signature {
 public:
  // `board`: signature_bytes(notices_max) zero bytes.
  Signature(std::byte* board, std::size_t notices_max, Hooks hooks = {});

  // Adds the notice unless a newer one of its block is there. If the signature is full, the notices with the
  // smallest write timestamps are dropped, this one too, and the minimum rises to cover them. Any thread.
  void add(const Notice& notice);
  void add_all(SignatureView signature);

  // Calls take(SignatureView) on the present content. Result: a mark for forget().
  template <class Take>
  std::uint64_t read(Take&& take) {
    lock_.lock();
    take(SignatureView{board_->minimum, {notices_, static_cast<std::size_t>(board_->count)}});
    const std::uint64_t mark = stamp_;
    lock_.unlock();
    return mark;
  }
  // Drops the notices added before `mark` was given.
  void forget(std::uint64_t mark);

  // For a signature that one task uses alone: its content, valid until it changes; and emptying it.
  SignatureView view() const {
    return {board_->minimum, {notices_, static_cast<std::size_t>(board_->count)}};
  }
  void clear() { forget(stamp_); }

  std::size_t size() const { return static_cast<std::size_t>(board_->count); }
  LogicalTime minimum() const { return board_->minimum; }
  // Slots of the index that were written so far: the cost of additions and forget(). For tests.
  std::uint64_t index_writes() const { return index_writes_; }

 private:
  void add_locked(const Notice& notice);
  bool drop_oldest(LogicalTime added);
  void empty_index();
  void fill_index();
  std::size_t slot_of(BlockId block) const;
  void put_at(std::size_t slot, std::size_t position);
  void begin_change();
  void end_change();

  SpinLock lock_;
  SignatureBoard* board_;
  Notice* notices_;
  std::size_t capacity_;
  [[no_unique_address]] Hooks hooks_;
  std::uint64_t stamp_ = 0;
  std::uint64_t minimum_stamp_ = 0;
  std::uint64_t* stamps_;           // when each notice was added
  std::vector<std::size_t> index_;  // open addressing: 1 + position of the block's notice
  std::vector<std::size_t> slots_;  // where in the index each notice stands
  std::uint64_t index_writes_ = 0;
  std::vector<LogicalTime> scratch_;  // for the choice of the notices to drop
};

}  // namespace musubi::coherence
