// Team words: words of 8 bytes at each rank, on which front ends agree beside shared memory.
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
  // After them: the table of the pieces of memory that hold locks (omp/locks.h). Its words cost memory
  // only where it is used.
  static constexpr std::size_t lock_pieces = std::size_t{1} << 22;
  static constexpr std::size_t count_with_lock_pieces = count + lock_pieces;

  // Whether processor atomics reach the words of all ranks; the same at every rank. Otherwise each operation
  // on a far rank's word is a trip there.
  virtual bool all_within_reach() const noexcept = 0;

  virtual std::uint64_t load(Rank owner, std::size_t index) = 0;
  virtual void store(Rank owner, std::size_t index, std::uint64_t value) = 0;
  // Result of both: the old value.
  virtual std::uint64_t fetch_add(Rank owner, std::size_t index, std::uint64_t amount) = 0;
  virtual std::uint64_t compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                                     std::uint64_t desired) = 0;

 protected:
  ~Words() = default;
};

}  // namespace musubi::runtime
