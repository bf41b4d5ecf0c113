// Reductions of regions and loops whose compiler gives a function that combines two lists of copies (LLVM's
// interface). The copies lie on the threads' stacks, which are shared memory, so no copy is sent: the threads
// of a rank combine in pairs, then the ranks do along a binomial tree of log2(ranks) levels. In one rank this
// releases nothing; between two ranks it takes one release, one acquire, and the fetch of the copies.
//
// REQUIRES: cancellation is not enabled, since every member must come to every reduction.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "omp/thread.h"

namespace musubi::omp {

class Team;

// Combines the second list of copies into the first.
using CombineCopies = void (*)(void* copies, void* others);

// The tree over the ranks with members, numbered from 0: on each level, each second of those that still take
// part gives its copies to the one before it. Number 0 receives all.
namespace reduction_tree {
// Result: whether the rank gives its copies away on this level, its last.
constexpr bool gives_on(std::uint32_t level, std::uint32_t rank) {
  return (rank >> level & 1) != 0;
}
// The rank to which it gives them.
constexpr std::uint32_t receiver_of(std::uint32_t level, std::uint32_t rank) {
  return rank - (std::uint32_t{1} << level);
}
// The rank from which it receives copies on this level; `ranks`: none.
constexpr std::uint32_t giver_of(std::uint32_t level, std::uint32_t rank, std::uint32_t ranks) {
  const std::uint64_t giver = rank + (std::uint64_t{1} << level);
  return giver < ranks ? static_cast<std::uint32_t>(giver) : ranks;
}
constexpr std::uint32_t levels_of(std::uint32_t ranks) {
  std::uint32_t levels = 0;
  while ((std::uint64_t{1} << levels) < ranks) ++levels;
  return levels;
}
}  // namespace reduction_tree

// When the owner of copies may reuse their memory.
enum class CopiesStay : std::uint8_t {
  until_barrier,  // the team's next barrier, which follows at once
  until_taken,    // the return from the reduction
};

// The reductions of a team, as one rank takes part in them. In memory of the process.
class TeamReductions {
 public:
  // Before the first reduction of a region, while no member works.
  void restart() noexcept;

  // A member's part in reduction `number`, counted from 0 in each region; every member takes part in each.
  // Result: true in one thread of the team, whose copies then hold the contributions of all: it alone
  // combines them into the original variables. Blocks; runs `combine`, code of the program.
  bool reduce(Team& team, std::uint32_t number, void* copies, CombineCopies combine, CopiesStay stay);

 private:
  // What a thread offers to the others of its rank: its copies, which hold those of `threads` threads.
  struct alignas(64) Offer {
    void* copies = nullptr;
    std::uint32_t threads = 0;
    std::atomic<std::uint32_t> is_taken{0};
  };
  // Threads may be in several reductions at a time, since nothing but the next barrier makes them wait for
  // slower ones. Each reduction uses one place, one after the other.
  struct alignas(64) Place {
    std::atomic<std::uint32_t> turn{0};  // its reductions that are complete on this rank
    std::atomic<Offer*> offer{nullptr};
  };
  static constexpr std::uint32_t places_max = 8;

  static Offer& own_offer();
  bool reduce_in_rank(Team& team, std::uint32_t number, void* copies, CombineCopies combine, CopiesStay stay);

  std::array<Place, places_max> places_;
};

// The calling thread's next reduction in its region; see TeamReductions::reduce. In a team of one: true.
bool reduce(ImplicitTask& task, void* copies, CombineCopies combine, CopiesStay stay);

}  // namespace musubi::omp
