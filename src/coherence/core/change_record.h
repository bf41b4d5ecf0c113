// Which lines of a block its last versions have changed, at the home that made them: a reader that has one of
// these gets the lines since, not the block (docs/decisions/readers.md). In registered memory after the board
// of relays.
//
// All of it is advice, and says itself whether it holds: a record is right for the public copy only if it
// names the copy's version, and as many critical sections have ended as when it was written. A change that is
// not noted here ends a section all the same, and so makes the record void until the next note.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "coherence/core/line_mask.h"
#include "hooks/hooks.h"

namespace musubi::coherence {

// Zero at start. One rank at a time changes it; blocks whose numbers are equal modulo the size of the board
// share one.
struct ChangeRecord {
  static constexpr unsigned steps = 4;
  // More than a reader takes.
  static constexpr std::size_t few_lines = LineMask::lines_max / 8;

  std::uint64_t sequence;  // odd: a rank is changing the record
  std::uint64_t block;     // its number and 1; 0: of none
  std::uint64_t asked;     // write_ts of the version that a reader asked for last
  std::uint64_t sections;  // BlockWords::version while the record holds
  std::uint64_t floor;     // write_ts of the version before the oldest step
  std::uint64_t dense;     // versions in a row that changed many lines
  std::uint64_t unasked;   // noted since a reader asked
  std::uint64_t reserved;
  // Newest first; 0: none. A step leads from the version of the next one to this one.
  std::uint64_t write_ts[steps];
  std::uint64_t lines[steps][LineMask::words];
};

// Sparse, at the same place on every rank.
class ChangeLayout {
 public:
  static constexpr std::uint64_t records = 4096;

  constexpr explicit ChangeLayout(std::uint64_t begin) : begin_(begin) {}
  constexpr std::uint64_t record(BlockId block) const {
    return begin_ + block.value % records * sizeof(ChangeRecord);
  }
  static constexpr std::uint64_t bytes() { return (records * sizeof(ChangeRecord) + 63) / 64 * 64; }

 private:
  std::uint64_t begin_;
};

// One record, as the home and the procedures of readers see it. Never waits: a caller that finds it busy does
// without.
class ChangeBoard {
 public:
  // So long, in logical time, a record resists another block.
  static constexpr std::uint64_t ticks_kept = 256;
  static constexpr std::uint64_t dense_max = 2, unasked_max = 16;

  explicit ChangeBoard(ChangeRecord& record, const Hooks& hooks) : record_(record), hooks_(hooks) {}

  // Whether readers ask for the block.
  bool is_worth_noting(BlockId block) const noexcept {
    return is_for(block) && get(record_.unasked) < unasked_max;
  }

  // A reader asks for the block, whose public copy had version `write_ts` while `sections` was its version
  // word. From now on its changes are noted.
  void claim(BlockId block, LogicalTime write_ts, std::uint64_t sections) const noexcept;
  // Whether to learn which lines a version changes, although comparing costs: most versions have changed few
  // lines, or it has hardly been tried, and readers still ask.
  bool is_worth_comparing(BlockId block) const noexcept {
    return is_worth_noting(block) && get(record_.dense) < dense_max;
  }
  // Under the block's lock: its public copy is of `next` now, and was of `found` before; `lines` have
  // changed. `sections`: its version word, which the end of this critical section raises.
  void note(BlockId block, LogicalTime found, LogicalTime next, std::uint64_t sections,
            const LineMask& lines) const noexcept;
  // The lines that the public copy, of version `newest`, has otherwise than version `base`. None: not known.
  std::optional<LineMask> since(BlockId block, LogicalTime base, LogicalTime newest,
                                std::uint64_t sections) const noexcept;

 private:
  bool is_for(BlockId block) const noexcept { return get(record_.block) == block.value + 1; }
  static std::uint64_t get(std::uint64_t& word) noexcept {
    return std::atomic_ref(word).load(std::memory_order_acquire);
  }
  static void put(std::uint64_t& word, std::uint64_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }
  std::atomic_ref<std::uint64_t> sequence() const noexcept { return std::atomic_ref(record_.sequence); }
  bool enter() const noexcept;
  void leave() const noexcept { sequence().fetch_add(1); }
  void begin_at(LogicalTime write_ts) const noexcept;
  LogicalTime newest() const noexcept;
  void add_lines(unsigned step, LineMask& lines) const noexcept;
  void set_lines(unsigned step, const LineMask& lines) const noexcept;
  void make_room() const noexcept;
  void push(LogicalTime write_ts) const noexcept;

  ChangeRecord& record_;
  const Hooks& hooks_;
};

}  // namespace musubi::coherence
