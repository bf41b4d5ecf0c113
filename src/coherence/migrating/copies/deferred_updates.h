// Blocks that are always open, whose newest version is not shown to the program yet (deferred_updates.cpp).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "base/buffer_pool.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/task.h"
#include "coherence/migrating/ground/ground.h"
#include "coherence/store/block_store.h"
#include "coherence/store/visit_board.h"

namespace musubi::coherence::migrating {

// Numbers of the acquires in order (coherence/ordering.h): bytes that came while one was under way are
// covered by the next one that begins.
class AcquiresInOrder {
 public:
  // Result: its number.
  std::uint32_t begin() noexcept { return begun_.fetch_add(1) + 1; }
  // It has ended, and with it all that began before.
  void end(std::uint32_t number) noexcept {
    MUSUBI_CHECK(!is_later(number, begun()));
    std::uint32_t seen = ended_.load();
    while (is_later(number, seen) && !ended_.compare_exchange_weak(seen, number)) {
    }
  }

  // For bytes that come now. Never 0.
  std::uint32_t begun() const noexcept { return begun_.load(); }
  // Whether an acquire that began after `came_in` has ended; 0: no bytes came.
  bool has_covered(std::uint32_t came_in) const noexcept {
    return came_in == 0 || is_later(ended_.load(), came_in);
  }
  // Whether the acquire `number` began after that.
  static bool is_later(std::uint32_t number, std::uint32_t came_in) noexcept {
    return static_cast<std::int32_t>(number - came_in) > 0;
  }

 private:
  std::atomic<std::uint32_t> begun_{1};
  std::atomic<std::uint32_t> ended_{0};  // the newest one that has
};

// Guarded by the block's gate, but for the first two.
struct HeldBack {
  static constexpr std::uint64_t nothing = UINT64_MAX;

  std::atomic<bool> in_use{false};
  std::atomic<std::uint64_t> block{nothing};
  Rank giver;                              // of the newest version
  std::optional<BufferPool::Buffer> base;  // the version that the private bytes were made of
};

// Bytes are due that came before the acquire in order of that number began; or all bytes.
struct IsDueToShow {
  std::uint32_t number = 0;
  bool regardless = false;
  bool operator()(std::uint32_t came_in) const {
    return regardless || AcquiresInOrder::is_later(number, came_in);
  }
};

class HeldBackBlocks {
 public:
  HeldBack& of(BlockId block) {
    for (HeldBack& held : all()) {
      if (held.block.load() == block.value) return held;
    }
    MUSUBI_CHECK(false, "block %lu: nothing is held back", static_cast<unsigned long>(block.value));
    __builtin_unreachable();
  }
  // Null when there are too many.
  HeldBack* add(BlockId block) {
    for (HeldBack& held : all_) {
      bool free = false;
      if (held.in_use.load() || !held.in_use.compare_exchange_strong(free, true)) continue;
      held.block.store(block.value);
      const auto end = static_cast<std::uint32_t>(&held - all_.data()) + 1;
      for (std::uint32_t seen = end_.load(); seen < end && !end_.compare_exchange_weak(seen, end);) {
      }
      count_.fetch_add(1);
      return &held;
    }
    return nullptr;
  }
  void remove(HeldBack& held) {
    MUSUBI_CHECK(held.in_use.load() && !empty());
    held.block.store(HeldBack::nothing);
    held.base.reset();
    count_.fetch_sub(1);
    held.in_use.store(false);
  }
  bool empty() const { return count_.load() == 0; }
  std::span<HeldBack> all() { return {all_.data(), end_.load()}; }

 private:
  std::array<HeldBack, 256> all_;
  std::atomic<std::uint32_t> end_{0};  // those from here on have never been in use
  std::atomic<std::uint32_t> count_{0};
};

// Any thread, for show_if() and empty().
class DeferredUpdates {
 public:
  DeferredUpdates(Ground& ground, const AcquiresInOrder& acquires)
      : ground_(ground), store_(ground.store), visits_(ground.visits), acquires_(acquires) {}

  bool empty() const { return blocks_.empty(); }
  // `remote` is the newest version of the block, and comes from `giver`. Result: false when too much is held
  // back already.
  bool hold(HeldBlock& b, const std::byte* remote, Rank giver);
  // The version that the private bytes are made of, as the program sees them. REQUIRES: the block is held
  // back.
  const std::byte* base_of(const HeldBlock& b) { return blocks_.of(b.id).base->data(); }
  // Shows all of it, data before flags. A thread may look at any time.
  void show(HeldBlock& b);
  // Shows the words that [offset, offset + bytes) lies in.
  void show_words_of(const HeldBlock& b, std::size_t offset, std::size_t bytes);
  // Shows all blocks that are due.
  Task<> show_if(IsDueToShow is_due);
  // The changes of the program go into the public copy. Result: whether there are any.
  bool publish_changes(const HeldBlock& b);

 private:
  bool begin(HeldBlock& b);
  void show_part(const HeldBlock& b, std::size_t begin, std::size_t end);
  void show_kind(const HeldBlock& b, bool are_flags);
  void let_go(HeldBlock& b);

  Ground& ground_;
  BlockStore& store_;
  VisitBoard& visits_;
  const AcquiresInOrder& acquires_;
  HeldBackBlocks blocks_;
};

}  // namespace musubi::coherence::migrating
