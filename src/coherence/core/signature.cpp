#include "coherence/core/signature.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/check.h"

namespace musubi::coherence {

Signature::Signature(std::byte* board, std::size_t notices_max, Hooks hooks)
    : board_(reinterpret_cast<SignatureBoard*>(board)),
      notices_(reinterpret_cast<Notice*>(board + sizeof(SignatureBoard))),
      capacity_(notices_max),
      hooks_(hooks),
      stamps_(reinterpret_cast<std::uint64_t*>(board + notice_bytes(notices_max))),
      index_(std::bit_ceil(2 * notices_max + 1)),
      slots_(notices_max),
      scratch_(notices_max + 1) {}

// Before the first write to the board. A call that changes nothing leaves the sequence word alone: ranks that
// read each other's signatures again and again would never finish.
void Signature::begin_change() {
  const std::atomic_ref<std::uint64_t> sequence(board_->sequence);
  if (sequence.load(std::memory_order_relaxed) % 2 == 0) sequence.fetch_add(1);
}

void Signature::end_change() {
  const std::atomic_ref<std::uint64_t> sequence(board_->sequence);
  if (sequence.load(std::memory_order_relaxed) % 2 == 0) return;
  board_->stamp = stamp_;
  sequence.fetch_add(1);
}

// The slot where the block stands, or the empty one where it would.
std::size_t Signature::slot_of(BlockId block) const {
  const std::size_t mask = index_.size() - 1;
  std::size_t slot = (block.value * 0x9e3779b97f4a7c15u >> 20) & mask;
  while (index_[slot] != 0 && notices_[index_[slot] - 1].block != block) slot = (slot + 1) & mask;
  return slot;
}

void Signature::put_at(std::size_t slot, std::size_t position) {
  MUSUBI_CHECK(position < capacity_ && slot < index_.size());
  index_[slot] = position + 1;
  slots_[position] = slot;
  ++index_writes_;
}

// Before notices are dropped. The table is many times as large as most signatures.
void Signature::empty_index() {
  MUSUBI_CHECK(board_->count <= capacity_);
  for (std::size_t i = 0; i < board_->count; ++i) index_[slots_[i]] = 0;
  index_writes_ += board_->count;
}

void Signature::fill_index() {
  MUSUBI_CHECK(board_->count <= capacity_);
  for (std::size_t i = 0; i < board_->count; ++i) put_at(slot_of(notices_[i].block), i);
}

// Dropping an eighth at a time keeps the cost of an addition constant; the minimum covers all that is
// dropped. `added` may be among the oldest. Result: whether it is to stay.
bool Signature::drop_oldest(LogicalTime added) {
  MUSUBI_CHECK(board_->count == capacity_);
  const std::size_t count = board_->count;
  const std::size_t drop = std::max<std::size_t>(1, capacity_ / 8);
  for (std::size_t i = 0; i < count; ++i) scratch_[i] = notices_[i].write_ts;
  scratch_[count] = added;
  std::nth_element(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(drop - 1),
                   scratch_.begin() + static_cast<std::ptrdiff_t>(count + 1));
  const LogicalTime limit = scratch_[drop - 1];
  empty_index();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (notices_[i].write_ts <= limit) continue;
    notices_[kept] = notices_[i];
    stamps_[kept] = stamps_[i];
    ++kept;
  }
  board_->count = kept;
  if (!hooks_.injected(InjectedBug::overflow_without_minimum)) {
    board_->minimum = later(board_->minimum, limit);
    minimum_stamp_ = stamp_;  // it covers the notice added just now: forget() must not take it away
  }
  fill_index();
  return added > limit;
}

void Signature::add_locked(const Notice& notice) {
  ++stamp_;
  std::size_t slot = slot_of(notice.block);
  if (index_[slot] != 0) {
    const std::size_t position = index_[slot] - 1;
    if (notices_[position].write_ts >= notice.write_ts) return;
    begin_change();
    notices_[position] = notice;
    stamps_[position] = stamp_;
    return;
  }
  if (board_->count == capacity_) {
    if (notice.write_ts <= board_->minimum) {
      minimum_stamp_ = stamp_;  // as in drop_oldest()
      return;
    }
    begin_change();
    if (!drop_oldest(notice.write_ts)) return;
    slot = slot_of(notice.block);
  }
  begin_change();
  notices_[board_->count] = notice;
  stamps_[board_->count] = stamp_;
  put_at(slot, board_->count++);
}

void Signature::add(const Notice& notice) {
  lock_.lock();
  add_locked(notice);
  end_change();
  lock_.unlock();
}

void Signature::add_all(SignatureView signature) {
  lock_.lock();
  for (const Notice& notice : signature.notices) add_locked(notice);
  if (signature.minimum > board_->minimum) {
    begin_change();
    board_->minimum = signature.minimum;
    minimum_stamp_ = ++stamp_;
  }
  end_change();
  lock_.unlock();
}

void Signature::forget(std::uint64_t mark) {
  lock_.lock();
  const std::size_t count = board_->count;
  if (std::any_of(stamps_, stamps_ + count, [=](std::uint64_t s) { return s <= mark; })) {
    begin_change();
    empty_index();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (stamps_[i] <= mark) continue;
      notices_[kept] = notices_[i];
      stamps_[kept] = stamps_[i];
      ++kept;
    }
    board_->count = kept;
    fill_index();
  }
  if (minimum_stamp_ <= mark && board_->minimum != LogicalTime{}) {
    begin_change();
    board_->minimum = LogicalTime{};
  }
  end_change();
  lock_.unlock();
}

}  // namespace musubi::coherence
