// The team words of the runtime as the OpenMP layer uses them: their meaning, and one way to access them. A
// team inside one rank has no other rank to agree with, so its words are plain atomics of the process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "omp/shared_memory.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

// Indices. The words of one loop slot are together at the slot's owner, rank `slot mod ranks`.
namespace words {
inline constexpr std::size_t claimed_single = 0;    // rank 0: number of the last `single` that was claimed
inline constexpr std::size_t broadcasts = 1;        // rank 0: two words, values sent by other ranks' threads
inline constexpr std::size_t ended_singles = 4;     // rank 0: by number: the newest single that has ended
inline constexpr std::size_t awaited_singles = 20;  // rank 0: the newest single that a thread waits for
inline constexpr std::size_t open_single_count = 16;
inline constexpr std::size_t cancelled_region = 36;  // rank 0: not 0 once the region was cancelled
inline constexpr std::size_t cancelled_loop = 37;    // rank 0: 1 + barriers of the region before that loop
inline constexpr std::size_t affinity_format = 38;   // rank 0: address of the text, once it was set
inline constexpr std::size_t thread_copies = 39;     // rank 0: address of the first record (thread_copies.h)
inline constexpr std::size_t busy_threads = 40;      // rank 0: contention_group.h
inline constexpr std::size_t given_copies = 48;      // by level: the address that another rank has given
inline constexpr std::size_t given_copies_levels = 12;
inline constexpr std::size_t taken_copies =
    given_copies + given_copies_levels;  // 1: the own ones, by another
inline constexpr std::size_t loop_slots = 8192;
inline constexpr std::size_t loop_slot_count = 256;
inline constexpr std::size_t loop_slot_words = 8;
inline constexpr std::size_t doacross = 16384;  // chunk c: word c / ranks of rank c mod ranks
inline constexpr std::size_t doacross_count = 1024;
inline constexpr std::size_t end = doacross + doacross_count;  // of the words of teams
// Of the job alone: places.cpp.
inline constexpr std::size_t places = 32768;
inline constexpr std::size_t places_end = 65536;

static_assert(awaited_singles + open_single_count <= cancelled_region && busy_threads < given_copies);
static_assert(taken_copies < loop_slots);
static_assert(loop_slots + loop_slot_count * loop_slot_words <= doacross);
static_assert(end <= places && places_end <= runtime::Words::count);
}  // namespace words

// The channel on which ranks release and acquire the data that belong to a team word
// (runtime/api/synchronization.h).
constexpr std::uint64_t channel_of(std::size_t index) {
  return index;
}

class TeamWords {
 public:
  // For teams over all ranks.
  explicit TeamWords(runtime::Runtime& runtime) : TeamWords(runtime, runtime.ranks()) {}
  // `ranks`: all of the job's, or 1: for teams inside this rank.
  TeamWords(runtime::Runtime& runtime, std::uint32_t ranks) : runtime_(runtime), ranks_(ranks) {
    if (ranks_ == 1) local_ = make_private<Local>();
  }

  std::uint32_t ranks() const noexcept { return ranks_; }
  Rank owner_of(std::uint64_t number) const noexcept {
    return Rank{static_cast<std::uint32_t>(number % ranks_)};
  }

  // Whether no operation needs a network round trip. The same at every rank.
  bool all_within_reach() const noexcept { return local_ != nullptr || runtime_.words().all_within_reach(); }

  std::uint64_t load(Rank owner, std::size_t index) {
    return local_ != nullptr ? (*local_)[index].load() : runtime_.words().load(owner, index);
  }
  void store(Rank owner, std::size_t index, std::uint64_t value) {
    if (local_ != nullptr) {
      (*local_)[index].store(value);
    } else {
      runtime_.words().store(owner, index, value);
    }
  }
  std::uint64_t fetch_add(Rank owner, std::size_t index, std::uint64_t amount) {
    return local_ != nullptr ? (*local_)[index].fetch_add(amount)
                             : runtime_.words().fetch_add(owner, index, amount);
  }
  // Result: the old value; the word was changed if that is `expected`.
  std::uint64_t compare_swap(Rank owner, std::size_t index, std::uint64_t expected, std::uint64_t desired) {
    if (local_ == nullptr) return runtime_.words().compare_swap(owner, index, expected, desired);
    (*local_)[index].compare_exchange_strong(expected, desired);
    return expected;
  }

 private:
  using Local = std::array<std::atomic<std::uint64_t>, words::end>;

  runtime::Runtime& runtime_;
  std::uint32_t ranks_;
  Local* local_ = nullptr;
};

}  // namespace musubi::omp
