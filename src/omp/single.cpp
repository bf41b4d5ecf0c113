// What one thread does for its team: single, copyprivate, and the memory of a construct.
#include "omp/backoff.h"
#include "omp/job.h"
#include "omp/open_singles.h"
#include "omp/shared_memory.h"
#include "omp/team.h"
#include "omp/worksharing.h"

namespace musubi::omp {
namespace {

// Whether the word holds an older number. Numbers wrap around.
bool is_before(std::uint32_t seen, std::uint32_t number) {
  return static_cast<std::int32_t>(seen - number) < 0;
}

// First come, first served: the first thread of a rank asks for the rank, and the first rank to ask has it.
bool claim_single(Job& job, std::uint32_t number) {
  std::uint32_t seen = job.last_single.load(std::memory_order_relaxed);
  do {
    if (!is_before(seen, number)) return false;
  } while (!job.last_single.compare_exchange_weak(seen, number));
  if (job.ranks == 1) return true;
  Backoff backoff(runtime::Wait::single, number);
  while (true) {
    const std::uint32_t previous = number - 1;
    seen =
        static_cast<std::uint32_t>(job.words.compare_swap(Rank{0}, words::claimed_single, previous, number));
    if (seen == previous) return true;
    if (!is_before(seen, number)) return false;
    backoff.pause();  // another thread of this rank is about to ask for an earlier one
  }
}

void* own_construct_memory(ImplicitTask& task, std::size_t bytes) {
  constexpr std::size_t header = 64;  // keeps what follows aligned
  auto* block = static_cast<ConstructMemory*>(allocate_shared_zeroed(header, header + bytes));
  block->next = task.memory;
  task.memory = block;
  return reinterpret_cast<std::byte*>(block) + header;
}

}  // namespace

bool single_begin(ImplicitTask& task) {
  if (task.size == 1) return true;
  const bool runs_it = claim_single(*Job::current(), ++task.singles);
  note_single(task, task.singles, runs_it);
  return runs_it;
}

void* broadcast(ImplicitTask& task, bool sender, void* pointer) {
  if (task.size == 1) return pointer;
  // Two in turn: the next but one is sent only behind the next barrier, and by then every thread has this
  // one.
  Job& job = *Job::current();
  Broadcast& turn = job.broadcasts[task.broadcasts++ % 2];
  if (sender) {
    const auto value = reinterpret_cast<std::uintptr_t>(pointer);
    turn.value.store(value, std::memory_order_relaxed);
    turn.sent.store(true, std::memory_order_relaxed);
    if (job.self != 0) job.words.store(Rank{0}, turn.word, value);
  }
  if (!barrier(&turn)) return sender ? pointer : nullptr;
  return reinterpret_cast<void*>(turn.value.load(std::memory_order_relaxed));
}

void* construct_memory(ImplicitTask& task, std::size_t bytes) {
  const bool sender = single_begin(task);
  void* memory = sender ? own_construct_memory(task, bytes) : nullptr;
  memory = broadcast(task, sender, memory);
  // What the threads of a cancelled region compute in it is of no interest to anybody.
  return memory != nullptr ? memory : own_construct_memory(task, bytes);
}

void free_construct_memory(ImplicitTask& task) {
  while (ConstructMemory* block = task.memory) {
    task.memory = block->next;
    free_shared(block);
  }
}

}  // namespace musubi::omp
