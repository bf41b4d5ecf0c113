// Consistency at a barrier (paper SMS, section 5.5): each rank lists its writes since the last one, tells the
// ranks that have copies, and takes the lists told by other ranks. Updates and times of locks then end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/task.h"
#include "coherence/entry/ground.h"
#include "coherence/entry/pages.h"
#include "coherence/entry/updates.h"

namespace musubi::coherence::entry {

class Barriers {
 public:
  // A page unused for `unused_barriers` barriers is unmapped; 0: none is.
  Barriers(Ground& ground, Pages& pages, Updates& updates, std::uint64_t unused_barriers);

  // At the next barrier, on all ranks. If several ranks ask, the one with the highest number decides; of one
  // rank, the last call. Any thread.
  void change_manager(vm::BlockRun blocks, Rank manager);
  // Before the other ranks are waited for. Under the door.
  Task<> announce();
  // When all ranks have announced. Under the door.
  Task<> settle();

 private:
  Runs list_of_barrier();
  bool add_moves(Runs& list);
  void pack(const Runs& list, std::uint64_t offset, std::uint64_t epoch);
  Task<> find_receivers(std::uint64_t epoch);
  Task<> look_at_copy_sets(BlockId first, std::uint64_t count, std::uint64_t epoch);
  fabric::Step told_step(std::uint64_t epoch) const;
  Task<> tell(Rank rank, std::uint64_t epoch);
  Task<> change_managers(Runs moves, std::uint64_t epoch);
  std::uint64_t own_word(std::uint64_t offset) const {
    return ground_.store.shared(ground_.board.word(offset)).load();
  }
  void set_own_word(std::uint64_t offset, std::uint64_t value) const {
    ground_.store.shared(ground_.board.word(offset)).store(value);
  }
  // Result: whether it was not there.
  static bool add(std::vector<std::uint64_t>& ranks, Rank rank) {
    const bool is_new = !holds(ranks, rank);
    ranks[rank.value / 64] |= Ground::bit_of(rank);
    return is_new;
  }
  static bool holds(const std::vector<std::uint64_t>& ranks, Rank rank) {
    return (ranks[rank.value / 64] & Ground::bit_of(rank)) != 0;
  }

  static constexpr std::size_t words_at_once = 512;

  Ground& ground_;
  const std::uint64_t unused_barriers_;
  Pages& pages_;
  Updates& updates_;
  // A bit per rank: those of the copy sets; at first, as they were at the last barrier.
  std::vector<std::uint64_t> receivers_;
  std::vector<std::uint64_t> told_;
  std::vector<std::byte> parcel_;
  std::size_t packed_ = 0;  // bytes of it
  BufferPool words_;
  SpinLock lock_;
  Runs moves_ MUSUBI_GUARDED_BY(lock_);  // asked for by this rank since the last barrier
};

}  // namespace musubi::coherence::entry
