// Spreads the threads of the program over all ranks (setting `pthreads`).
//
// Each rank has a share of the job's threads, as OpenMP's teams have. A new thread goes to the first rank
// that has fewer threads than its share; when all have theirs, to the one that has the fewest for its share.
// main counts at rank 0, which keeps the counts.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "image/process/owner_calls.h"
#include "image/threads/program_threads.h"
#include "omp/placement.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

// The counts; no communication. One thread at a time.
class ThreadCounts {
 public:
  // `most`: threads that a rank may have.
  ThreadCounts(omp::ThreadsOfRanks shares, std::uint32_t ranks, std::uint32_t most);

  // Counts a new thread. Result: its rank; the number of ranks if none may have another thread.
  std::uint32_t add();
  void remove(std::uint32_t rank);

 private:
  bool is_less_loaded(std::uint32_t one, std::uint32_t other) const;

  const omp::ThreadsOfRanks shares_;
  const std::uint32_t most_;
  std::vector<std::uint32_t> threads_;
};

class ThreadPlacement final : private ThreadPlaces {
 public:
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // The program runs on this rank, and its main thread has been adopted: other ranks' threads may come.
  void open() noexcept;

  bool spreads() const noexcept { return spreads_; }
  // As pthread_create(3). A thread that brings its own stack, or asks for a larger one than the job's, stays
  // on this rank. EAGAIN, with a line, if no rank has a stack left. Attached threads.
  int create(pthread_t* thread, const pthread_attr_t* attributes, const ThreadWork& work) noexcept;
  // Rank 0: blocks until the program has no thread left at any rank.
  void wait_for_all() noexcept;

 private:
  struct Sum {
    std::uint64_t running = 0, begun = 0;
    bool operator==(const Sum&) const = default;
  };

  void give_back_own_place() noexcept override;
  int create_at(Rank place, pthread_t* thread, const pthread_attr_t* attributes,
                const ThreadWork& work) noexcept;
  Sum sum_of_ranks() noexcept;
  // At rank 0.
  std::uint32_t take_place() noexcept;
  void give_back_place(std::uint32_t rank) noexcept;
  // At the rank of the new thread.
  int create_here(const CarriedThread& carried, pthread_t& made) noexcept;
  int count_here(ThreadCount& count) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  bool spreads_ = false;
  std::atomic<std::uint32_t> is_open_{0};
  std::mutex counting_;  // at rank 0, as the counts
  std::unique_ptr<ThreadCounts> counts_;
  OwnerCalls<&ThreadPlacement::take_place, &ThreadPlacement::give_back_place, &ThreadPlacement::create_here,
             &ThreadPlacement::count_here>
      calls_;
};

}  // namespace musubi::image
