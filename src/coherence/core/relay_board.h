// The readers of its blocks that a rank serves itself, and the ranks that it asks for blocks of other homes
// (docs/decisions/readers.md): in registered memory after the marks of visitors. All of it is advice. Lost or
// wrong advice costs a reader some trips, and nothing else depends on it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/ids.h"

namespace musubi::coherence {

// The readers of one block that ask here. Zero at start. Several ranks work on it by processor atomics;
// blocks whose numbers are equal modulo the size of the board share one.
struct RelayRecord {
  static constexpr unsigned places_max = 16;

  std::uint64_t block;   // its number and 1; 0: of none
  std::uint64_t newest;  // write_ts of the newest version that was asked for
  std::uint64_t before;  // of the one before that
  std::uint64_t coming;  // of the version that this rank is bringing, or has brought, to pass it on
  std::uint64_t readers[places_max];  // rank and 1; 0: the place is free
  std::uint64_t asked[places_max];    // write_ts of the version that this reader asked for last
};
static_assert(sizeof(RelayRecord) == 288);

// Sparse, at the same place on every rank.
class RelayLayout {
 public:
  static constexpr std::uint64_t records = 4096;

  constexpr explicit RelayLayout(std::uint64_t begin) : begin_(begin) {}
  constexpr std::uint64_t record(BlockId block) const {
    return begin_ + block.value % records * sizeof(RelayRecord);
  }
  // A word: where this rank asks for a block whose home is elsewhere.
  constexpr std::uint64_t parent(BlockId block) const {
    return begin_ + records * sizeof(RelayRecord) + block.value % records * sizeof(std::uint64_t);
  }
  static constexpr std::uint64_t bytes() { return records * (sizeof(RelayRecord) + sizeof(std::uint64_t)); }

 private:
  std::uint64_t begin_;
};
static_assert(RelayLayout::bytes() % 64 == 0);

// The parent word. 0: none.
class RelayParent {
 public:
  constexpr explicit RelayParent(std::uint64_t raw) : raw_(raw) {}
  static constexpr RelayParent of(BlockId block, Rank rank) {
    MUSUBI_CHECK(rank.value + 1 < 1u << rank_bits);
    return RelayParent((block.value + 1) << rank_bits | (rank.value + 1));
  }
  constexpr std::uint64_t raw() const { return raw_; }
  constexpr std::optional<Rank> rank_for(BlockId block) const {
    if (raw_ >> rank_bits != block.value + 1) return std::nullopt;
    return Rank{static_cast<std::uint32_t>(raw_ & ((1u << rank_bits) - 1)) - 1};
  }

 private:
  static constexpr unsigned rank_bits = 24;
  std::uint64_t raw_;
};

// One record, as the procedures that work on it see it.
class RelayBoard {
 public:
  // So long, in logical time, a record with all places taken resists another block.
  static constexpr std::uint64_t ticks_kept = 256;

  explicit RelayBoard(RelayRecord& record) : record_(record) {}

  // `asker` wants the version `wanted` of the block. Result: the reader to which it is sent; none: it is
  // served here. `places`: in use; `links`: how often it has been sent on.
  std::optional<Rank> place(BlockId block, LogicalTime wanted, Rank asker, unsigned places,
                            unsigned links) const noexcept {
    places = std::min(places, RelayRecord::places_max);
    if (places == 0 || !is_of(block, wanted.value, places) || !note_version(wanted.value))
      return std::nullopt;
    const std::uint64_t name = asker.value + 1;
    for (unsigned i = 0; i < places; ++i) {
      if (word(record_.readers[i]).load() != name) continue;
      word(record_.asked[i]).store(wanted.value);
      return std::nullopt;
    }
    for (unsigned i = 0; i < places; ++i) {
      std::uint64_t reader = word(record_.readers[i]).load();
      if (reader != 0 && !is_abandoned(i)) continue;
      if (!word(record_.readers[i]).compare_exchange_strong(reader, name)) continue;
      word(record_.asked[i]).store(wanted.value);
      return std::nullopt;
    }
    const std::uint64_t chosen = word(record_.readers[branch_of(asker, places, links)]).load();
    if (chosen == 0 || chosen == name) return std::nullopt;
    return Rank{static_cast<std::uint32_t>(chosen) - 1};
  }
  // This rank begins to bring the version, which its readers will find here.
  void announce(LogicalTime version) const noexcept { word(record_.coming).store(version.value); }
  bool is_coming(BlockId block, LogicalTime version) const noexcept {
    return word(record_.block).load() == block.value + 1 && word(record_.coming).load() >= version.value;
  }
  // Whether other ranks ask here for the block, and asked for one of these two versions.
  bool has_readers(BlockId block, LogicalTime before, LogicalTime newest) const noexcept {
    if (word(record_.block).load() != block.value + 1) return false;
    const std::uint64_t asked = word(record_.newest).load();
    return asked == before.value || asked == newest.value;
  }

 private:
  static std::atomic_ref<std::uint64_t> word(std::uint64_t& value) noexcept {
    return std::atomic_ref<std::uint64_t>(value);
  }
  // Result: whether the record is the block's, from now on at least.
  bool is_of(BlockId block, std::uint64_t wanted, unsigned places) const noexcept {
    std::uint64_t owner = word(record_.block).load();
    if (owner == block.value + 1) return true;
    bool is_full = owner != 0;
    for (unsigned i = 0; i < places; ++i) is_full = is_full && word(record_.readers[i]).load() != 0;
    if (word(record_.newest).load() + (is_full ? ticks_kept : 0) >= wanted) return false;
    if (!word(record_.block).compare_exchange_strong(owner, block.value + 1)) return false;
    for (std::uint64_t& reader : record_.readers) word(reader).store(0);
    word(record_.before).store(0);
    word(record_.coming).store(0);
    word(record_.newest).store(wanted);
    return true;
  }
  // Result: false for a version older than the newest one asked for.
  bool note_version(std::uint64_t wanted) const noexcept {
    std::uint64_t newest = word(record_.newest).load();
    if (wanted < newest) return false;
    if (wanted > newest && word(record_.newest).compare_exchange_strong(newest, wanted))
      word(record_.before).store(newest);
    return true;
  }
  bool is_abandoned(unsigned i) const noexcept {
    MUSUBI_CHECK(i < RelayRecord::places_max);
    return word(record_.asked[i]).load() < word(record_.before).load();
  }
  // Another digit at each rank on the way, so that all branches fill.
  static unsigned branch_of(Rank asker, unsigned places, unsigned links) noexcept {
    MUSUBI_CHECK(places != 0);
    std::uint64_t hash = (asker.value + 1) * 0x9E3779B97F4A7C15u >> 8;
    for (; links != 0; --links) hash /= places;
    return static_cast<unsigned>(hash % places);
  }

  RelayRecord& record_;
};

}  // namespace musubi::coherence
