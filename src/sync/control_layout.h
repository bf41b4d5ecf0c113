// Offsets of the parts of the control region: the same on every rank, computed from the sizes of the job.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "sync/barrier.h"
#include "sync/clock.h"
#include "sync/flag_order.h"
#include "sync/lock_table.h"
#include "sync/room_keeper.h"
#include "sync/thread_barriers.h"
#include "sync/wait_records.h"

namespace musubi::sync {

struct ControlSizes {
  std::uint32_t ranks = 1;
  std::size_t notices_max = 1024;
  std::size_t signature_bytes = 0;  // of the protocol's own signature
  std::size_t lock_count = 0;
  std::size_t wait_records = 0;  // reader-writer locks and conditions
  std::uint32_t waiters = 0;     // threads of a rank that may wait for one of these at once
  std::size_t team_words = 0;
};

// Offsets in the region; each part starts on a cache line of its own, so that parts with different writers do
// not disturb each other.
struct ControlLayout {
  std::uint64_t clock_words;
  std::uint64_t signature;
  std::uint64_t barrier_board;
  std::uint64_t wait_records;
  std::uint64_t thread_barriers;
  std::uint64_t flag_words;
  std::uint64_t room_words;
  std::uint64_t team_words;
  std::uint64_t lock_words;
  std::size_t bytes;  // of the whole region

  static ControlLayout of(const ControlSizes& sizes) {
    MUSUBI_CHECK(sizes.ranks != 0);
    MUSUBI_CHECK(sizes.ranks != 0 && sizes.waiters < WaiterLink::nodes_max);
    ControlLayout layout{};
    std::uint64_t end = 0;
    const auto place = [&end](std::size_t part_bytes) {
      const std::uint64_t offset = end;
      end += (part_bytes + 63) / 64 * 64;
      return offset;
    };
    layout.clock_words = place(Clock::bytes(sizes.ranks));
    layout.signature = place(sizes.signature_bytes);
    layout.barrier_board = place(Barrier::board_bytes(sizes.ranks, sizes.notices_max));
    layout.wait_records = place(WaitRecords::bytes(sizes.ranks, sizes.wait_records, sizes.waiters));
    layout.thread_barriers = place(sizeof(ThreadBarrierTable));  // sparse
    layout.flag_words = place(FlagOrder::word_count * sizeof(std::uint64_t));
    layout.room_words = place(sizeof(RoomKeeper::Words));
    layout.team_words = place(sizes.team_words * sizeof(std::uint64_t));
    layout.lock_words = place(LockTable::words_bytes(sizes.lock_count, sizes.ranks));  // vast and sparse
    layout.bytes = end;
    return layout;
  }
};

}  // namespace musubi::sync
