// Team words: words of 8 bytes at each rank, for agreement among front ends outside shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace musubi::runtime {

// Fabric atomics on word `index` at rank `owner`. Sequentially consistent with each other; they order nothing
// in shared memory.
class Words {
 public:
  static constexpr std::size_t count = 65536;  // per rank, zero at start
  // Followed by the table of the memory pieces that hold locks (omp/locks.h). Its words take memory only once
  // used.
  static constexpr std::size_t lock_pieces = std::size_t{1} << 22;
  static constexpr std::size_t count_with_lock_pieces = count + lock_pieces;

  // Whether processor atomics reach the words of all ranks; the same on every rank. Otherwise each operation
  // on a far rank's word costs a round trip.
  virtual bool all_within_reach() const noexcept = 0;

  virtual std::uint64_t load(Rank owner, std::size_t index) = 0;
  virtual void store(Rank owner, std::size_t index, std::uint64_t value) = 0;
  // Result of the two below: the old value.
  virtual std::uint64_t fetch_add(Rank owner, std::size_t index, std::uint64_t amount) = 0;
  virtual std::uint64_t compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                                     std::uint64_t desired) = 0;

 protected:
  ~Words() = default;
};

}  // namespace musubi::runtime
