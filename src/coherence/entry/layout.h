// The registered memory of the policy: other ranks read and write it with one-sided operations. The same on
// every rank.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherence/entry/runs.h"
#include "coherence/regions.h"

namespace musubi::coherence::entry {

// The head of one list of runs. All zeros: an empty list.
struct ListHead {
  std::uint64_t epoch;     // barriers passed when it was made: one of another epoch is empty
  std::uint64_t clock;     // no run in it has a greater one
  std::uint64_t offset;    // of its first run, in the region
  std::uint64_t capacity;  // runs for which there is room at `offset`
  std::uint32_t time;      // releases of the lock in this epoch
  std::uint32_t count;     // of runs
};
static_assert(sizeof(ListHead) == 40);

// The message of a rank to another one at a barrier: its list, and with it as much as fits into a parcel, so
// that small updates need no gets.
enum class Contents : std::uint32_t {
  list,  // where it is
  runs,  // the runs themselves, after the head
  all,   // and after the runs their bytes, contiguous
};
struct Parcel {
  std::uint64_t epoch;   // the barrier, counted from 1
  std::uint64_t offset;  // of the list at its writer
  std::uint32_t count;   // of its runs
  Contents contents;
};
static_assert(sizeof(Parcel) == 24);

struct Sizes {
  std::uint32_t ranks = 1;
  std::uint64_t blocks = 0;
  std::uint64_t locks = 0;
  std::size_t list_bytes = 0;       // for all lists of a rank together
  std::size_t parcel_bytes = 4096;  // a multiple of 64
};

// Offsets in the region. Sparse: unused parts take no memory.
struct Layout {
  std::uint64_t updated;  // word: barriers whose updates this rank has applied to its copies
  std::uint64_t ready;    // word: barriers after which this rank answers for the blocks that it manages
  // By the parity of the barrier, since a rank may be one barrier ahead:
  std::uint64_t told;         // two Parcels per rank: the last barrier at which it had updates for this rank
  std::uint64_t of_barriers;  // two ListHeads
  std::uint64_t of_locks;     // ListHead per lock
  std::uint64_t of_atomics;   // ListHead per block: the values that atomic operations left there
  std::uint64_t copy_sets;    // copy_set_words per block, at the block's page manager: a bit per rank
  std::uint64_t lists;        // the runs of all lists
  std::size_t copy_set_words;
  std::size_t bytes;

  static Layout of(const Sizes& sizes) {
    constexpr std::size_t word = sizeof(std::uint64_t);
    Layout layout{};
    std::uint64_t end = 0;
    const auto place = [&end](std::size_t part_bytes) {
      const std::uint64_t offset = end;
      end += (part_bytes + 63) / 64 * 64;
      return offset;
    };
    layout.copy_set_words = (sizes.ranks + 63) / 64;
    layout.updated = place(word);
    layout.ready = place(word);
    layout.told = place(sizes.ranks * 2 * sizes.parcel_bytes);
    layout.of_barriers = place(2 * sizeof(ListHead));
    layout.of_locks = place(sizes.locks * sizeof(ListHead));
    layout.of_atomics = place(sizes.blocks * sizeof(ListHead));
    layout.copy_sets = place(sizes.blocks * layout.copy_set_words * word);
    layout.lists = place(sizes.list_bytes);
    layout.bytes = end;
    return layout;
  }
};

}  // namespace musubi::coherence::entry
