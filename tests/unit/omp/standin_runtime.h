// A runtime for tests of the OpenMP layer: ranks are forked processes, and the memory that the real runtime
// keeps coherent by a protocol (stacks, heap) is simply shared by all of them. Barriers, locks and team words
// are real.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/api/runtime.h"

namespace musubi::testing {

inline constexpr std::uint32_t ranks_max = 4;
inline constexpr std::size_t stack_bytes = 1 << 20;
inline constexpr std::size_t slots_per_rank = 24;
inline constexpr std::size_t heap_bytes = 16 << 20;

// Data that all ranks share.
struct SharedWorld {
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> generation;
  runtime::BarrierPayload payload;
  std::atomic<std::uint64_t> barriers;
  std::atomic<std::uint64_t> heap_used;
  std::atomic<std::uint64_t> trips;
  std::atomic<std::uint32_t> locks[runtime::Synchronization::lock_count_of_all];
  std::atomic<std::uint64_t> words[ranks_max][runtime::Words::count_with_lock_pieces];
  alignas(4096) std::byte stacks[ranks_max][slots_per_rank][stack_bytes];
  alignas(4096) std::byte heap[heap_bytes];
};

struct JobDescription {
  std::uint32_t ranks = 1;
  std::uint32_t threads_per_rank = 1;
  std::vector<std::pair<std::string, std::string>> environment;
  bool far = false;  // each operation on a word of another rank is a trip
};

// Runs `body` as main of a job. Result: 0 when every rank ended well and no expectation failed; otherwise the
// result of rank 0 (or of the first rank that failed), or 128 + the signal that ended it. The whole job gets
// 60 seconds.
int run_job(const JobDescription& description, const std::function<void()>& body);

// Memory that all ranks see, zeroed; lives as long as the job.
void* shared_allocate(std::size_t alignment, std::size_t bytes);
template <class T>
T* shared_array(std::size_t count) {
  return static_cast<T*>(shared_allocate(alignof(T), count * sizeof(T)));
}

// Number of runtime barriers that the job has passed so far.
std::uint64_t barriers_passed();
// Number of operations on words of other ranks so far, in a far job. Each one takes longer than the work of a
// test.
std::uint64_t trips_made();

}  // namespace musubi::testing
