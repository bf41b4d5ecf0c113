// Everything OpenMP keeps per process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "omp/icv.h"
#include "omp/locks.h"
#include "omp/open_singles.h"
#include "omp/pool.h"
#include "omp/region.h"
#include "omp/team_words.h"
#include "runtime/runtime.h"

namespace musubi::omp {

// What a thread hands to its team with a barrier; one of a rank, used in turn with another.
struct Broadcast {
  const std::size_t word;  // where the value lies when its sender is not on rank 0
  std::atomic<std::uintptr_t> value{0};
  std::atomic<bool> sent{false};  // by a thread of this rank
};

struct Job {
  explicit Job(runtime::Runtime& runtime_of_process);

  // Null before start(): the process is then a team of one, without a runtime.
  static Job* current() noexcept;
  // For what cannot be done without a runtime: ends the process with a line that names `construct`.
  static Job& require(const char* construct);

  runtime::Runtime& runtime;
  const std::uint32_t ranks;
  const std::uint32_t self;
  const std::uint32_t threads_per_rank;
  Environment environment;
  bool stacks_hold_storage = true;  // the program has thread-local storage, which lies above its frames
  TeamWords words;
  Locks locks;
  Pool pool;
  UnreleasedSingles unreleased_singles;
  Region region;  // the active parallel region, while there is one
  std::atomic<bool> region_active{false};
  std::atomic<bool> region_cancelled{false};  // as far as this rank knows
  std::atomic<std::uint32_t> last_single{0};  // number of the last `single` that this rank asked for
  std::array<Broadcast, 2> broadcasts{{{words::broadcasts}, {words::broadcasts + 1}}};
  std::atomic<std::uint64_t> task_marks{0};  // handed out on this rank so far
};

// Ends the job as a failure of the program: one line that names the cause and the remedy.
[[noreturn]] void end_job(runtime::Runtime& runtime, std::string_view reason);
// The same because the program asked for something that is not there: one line naming it.
[[noreturn]] void unsupported(const char* construct, const char* remedy);

}  // namespace musubi::omp
