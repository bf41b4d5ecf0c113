// This rank's lists of runs in its registered memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "coherence/entry/layout.h"

namespace musubi::coherence::entry {

// Told when the lists of a rank have outgrown their memory. Does not return.
class Overflow {
 public:
  virtual void on_overflow() noexcept = 0;

 protected:
  ~Overflow() = default;
};

// One task at a time, but for word() and the copy sets.
class Board {
 public:
  // `own`: Layout::of(sizes).bytes zero bytes, this rank's part of updates_region.
  // `overflow` null: the process ends.
  Board(const Sizes& sizes, std::byte* own, Overflow* overflow)
      : sizes_(sizes), layout_(Layout::of(sizes)), own_(own), overflow_(overflow), next_(layout_.lists) {}

  const Layout& layout() const { return layout_; }
  std::uint64_t head_of_barrier(std::uint64_t barrier) const {
    return layout_.of_barriers + barrier % 2 * sizeof(ListHead);
  }
  std::uint64_t head_of_lock(LockId lock) const {
    MUSUBI_CHECK(lock.value < sizes_.locks, "lock %u of %lu", lock.value, sizes_.locks);
    return layout_.of_locks + lock.value * sizeof(ListHead);
  }
  std::uint64_t head_of_atomics(BlockId block) const {
    return layout_.of_atomics + block.value * sizeof(ListHead);
  }
  std::uint64_t copy_set(BlockId block) const {
    return layout_.copy_sets + block.value * layout_.copy_set_words * sizeof(std::uint64_t);
  }
  std::uint64_t told_by(Rank rank, std::uint64_t barrier) const {
    return layout_.told + (rank.value * 2 + barrier % 2) * sizes_.parcel_bytes;
  }
  std::size_t parcel_bytes() const { return sizes_.parcel_bytes; }
  const Parcel& parcel(std::uint64_t offset) const { return *reinterpret_cast<const Parcel*>(own_ + offset); }

  ListHead& head(std::uint64_t offset) const { return *reinterpret_cast<ListHead*>(own_ + offset); }
  std::uint64_t& word(std::uint64_t offset) const { return *reinterpret_cast<std::uint64_t*>(own_ + offset); }

  Runs load(const ListHead& head) const;
  // No other rank reads the list during the call. Sizes::list_bytes that are too few are an Overflow.
  void store(ListHead& head, const Runs& runs);

 private:
  static constexpr std::uint64_t capacity_least = 16;
  std::uint64_t allocate(std::uint64_t capacity);

  const Sizes sizes_;
  const Layout layout_;
  std::byte* const own_;
  Overflow* const overflow_;
  std::uint64_t next_;  // memory for lists that was never used
  // Memory that lists have outgrown, by the logarithm of the capacity; 0: none. Each begins with the next
  // one.
  std::array<std::uint64_t, 64> free_{};
};

}  // namespace musubi::coherence::entry
