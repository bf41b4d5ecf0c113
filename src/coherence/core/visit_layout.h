// The marks of visitors, in registered memory after the words of the blocks
// (docs/decisions/private_blocks.md), and after these the boards of relays and of changes. Zero at start,
// sparse, at the same place on every rank.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "coherence/core/block_words.h"
#include "coherence/core/change_record.h"
#include "coherence/core/relay_board.h"

namespace musubi::coherence {

// Words of the rank on two cache lines, then the marks by level: a byte per block at level 0, above that a
// byte for 64 of the level below.
class VisitLayout {
 public:
  static constexpr unsigned levels = 3;
  static constexpr std::uint64_t fanout = 64;

  // `blocks`: how many the space may have. Offsets count from the first block's words.
  constexpr explicit VisitLayout(std::uint64_t blocks) : begin_(blocks * sizeof(BlockWords)) {
    static_assert(sizeof(BlockWords) % line == 0);
    std::uint64_t at = begin_ + 2 * line;
    for (unsigned level = 0; level < levels; ++level) {
      level_[level] = at;
      count_[level] = level == 0 ? blocks : (count_[level - 1] + fanout - 1) / fanout;
      at += (count_[level] + line - 1) / line * line;
    }
    relays_ = at;
    changes_ = at + RelayLayout::bytes();
    end_ = changes_ + ChangeLayout::bytes();
  }

  // How many releases of the rank have begun.
  constexpr std::uint64_t epoch() const { return begin_; }
  // Not zero: no visitor may change bytes that threads of the rank may see. The word after it: the number of
  // blocks whose private bytes are not those of their newest version.
  constexpr std::uint64_t order() const { return begin_ + 8; }
  constexpr std::uint64_t held_back() const { return begin_ + 16; }
  // Not zero: no thread here runs program code before all visitors have left.
  constexpr std::uint64_t quiescent() const { return begin_ + 24; }
  // How many visitors are changing blocks here.
  constexpr std::uint64_t visitors() const { return begin_ + 32; }
  // How many visitors have marked something at the rank.
  constexpr std::uint64_t visits() const { return begin_ + line; }
  constexpr std::uint64_t mark(unsigned level, std::uint64_t index) const {
    MUSUBI_CHECK(level < levels);
    return level_[level] + index;
  }
  constexpr RelayLayout relays() const { return RelayLayout(relays_); }
  constexpr ChangeLayout changes() const { return ChangeLayout(changes_); }
  // How many marks the level has; bytes after them, up to a whole line, are never set.
  constexpr std::uint64_t count(unsigned level) const {
    MUSUBI_CHECK(level < levels);
    return count_[level];
  }
  // The size of the region, which holds the words of the blocks, too; a multiple of their size.
  constexpr std::uint64_t region_bytes() const { return end_; }

 private:
  static constexpr std::uint64_t line = 64;

  std::uint64_t begin_;
  std::uint64_t relays_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t level_[levels]{};
  std::uint64_t count_[levels]{};
};

}  // namespace musubi::coherence
