// The marks that visitors leave at this rank, as the rank takes them (docs/decisions/private_blocks.md).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/ids.h"
#include "coherence/core/visit_layout.h"
#include "hooks/hooks.h"

namespace musubi::coherence {

class VisitBoard {
 public:
  // `region`: the memory of this rank that the layout describes. One thread at a time, but for
  // begin_release().
  VisitBoard(std::byte* region, const VisitLayout& layout, Hooks hooks)
      : region_(region), layout_(layout), hooks_(hooks) {}

  const VisitLayout& layout() const { return layout_; }

  // Before the release looks for visitors.
  void begin_release() {
    hooks_.touch();
    if (!hooks_.injected(InjectedBug::release_without_epoch)) word(layout_.epoch()).fetch_add(1);
    hooks_.touch();
  }
  // Whether a visitor has come since the last time that take() was done.
  bool some_came() const { return word(layout_.visits()).load() != taken_; }

  // Why visitors may not change blocks here: each reason is a bit of its own.
  enum class Order : std::uint64_t { always = 1, now = 2 };
  void keep_order(Order reason, bool keep) {
    hooks_.touch();
    const auto bit = static_cast<std::uint64_t>(reason);
    if (keep) {
      word(layout_.order()).fetch_or(bit);
    } else {
      word(layout_.order()).fetch_and(~bit);
    }
    hooks_.touch();
  }
  bool keeps_order() const { return word(layout_.order()).load() != 0; }
  bool keeps_order_for(Order reason) const {
    return (word(layout_.order()).load() & static_cast<std::uint64_t>(reason)) != 0;
  }
  // A block is held back from now on, or not any more.
  void note_held_back(bool held) {
    const std::uint64_t before = word(layout_.held_back()).fetch_add(held ? 1 : UINT64_MAX);
    MUSUBI_CHECK(held || before != 0);
  }
  // Visitors may rely on the rank's quiescent state until this is said again with false, and then is_alone().
  void announce_quiescence(bool quiescent) { word(layout_.quiescent()).store(quiescent ? 1 : 0); }
  bool is_quiescence_announced() const {
    return word(layout_.quiescent()).load(std::memory_order_relaxed) != 0;
  }
  // No visitor is here. A visitor that comes from now on sees whether order is kept and whether threads may
  // run.
  bool is_alone() const { return word(layout_.visitors()).load() == 0; }

  // The blocks that are marked, one by one; each mark is cleared before its block is given. A mark that comes
  // during the walk is found now or by the next walk.
  class Walk {
   public:
    explicit Walk(VisitBoard& board) : board_(board) {
      board.taken_ = board.word(board.layout_.visits()).load();
      end_[top] = board.layout_.count(top);
    }
    std::optional<BlockId> next() {
      while (level_ <= top) {
        if (at_[level_] == end_[level_]) {
          ++level_;
          continue;
        }
        if (skips_word()) continue;
        const std::uint64_t index = at_[level_]++;
        if (!board_.clear(level_, index)) continue;
        if (level_ == 0) return BlockId{index};
        descend(index);
      }
      return std::nullopt;
    }

   private:
    static constexpr unsigned top = VisitLayout::levels - 1;

    bool skips_word() {
      if (at_[level_] % sizeof(std::uint64_t) != 0 || !board_.is_zero(level_, at_[level_])) return false;
      at_[level_] = std::min(at_[level_] + sizeof(std::uint64_t), end_[level_]);
      return true;
    }
    void descend(std::uint64_t index) {
      MUSUBI_CHECK(level_ > 0);
      --level_;
      at_[level_] = index * VisitLayout::fanout;
      end_[level_] = std::min(at_[level_] + VisitLayout::fanout, board_.layout_.count(level_));
    }

    VisitBoard& board_;
    unsigned level_ = top;
    std::array<std::uint64_t, VisitLayout::levels> at_{};
    std::array<std::uint64_t, VisitLayout::levels> end_{};
  };

 private:
  std::atomic_ref<std::uint64_t> word(std::uint64_t offset) const {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(region_ + offset));
  }
  // Eight marks at once. REQUIRES: index % 8 == 0.
  bool is_zero(unsigned level, std::uint64_t index) const {
    MUSUBI_CHECK(index % sizeof(std::uint64_t) == 0);
    return word(layout_.mark(level, index)).load() == 0;
  }
  // Result: whether the mark was set. An exchange: the marks below are looked at after it.
  bool clear(unsigned level, std::uint64_t index) {
    std::atomic_ref<std::uint8_t> mark(
        *reinterpret_cast<std::uint8_t*>(region_ + layout_.mark(level, index)));
    hooks_.touch();
    if (mark.load() == 0) return false;
    mark.exchange(0);
    hooks_.touch();
    return true;
  }

  std::byte* region_;
  const VisitLayout layout_;
  [[no_unique_address]] Hooks hooks_;
  std::uint64_t taken_ = 0;  // visits whose marks were taken
};

}  // namespace musubi::coherence
