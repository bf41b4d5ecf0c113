// Work of one thread for its team: single, copyprivate, and the memory of a construct.
#include "omp/open_singles.h"
#include "omp/shared_memory.h"
#include "omp/team.h"
#include "omp/worksharing.h"

namespace musubi::omp {
namespace {

void* own_construct_memory(ImplicitTask& task, std::size_t bytes) {
  constexpr std::size_t header = 64;  // keeps the memory after it aligned
  auto* block = static_cast<ConstructMemory*>(allocate_shared_zeroed(header, header + bytes));
  block->next = task.memory;
  task.memory = block;
  return reinterpret_cast<std::byte*>(block) + header;
}

}  // namespace

bool single_begin(ImplicitTask& task) {
  if (task.team == nullptr) return true;
  const bool runs_it = task.team->claim_single(++task.singles);
  note_single(task, task.singles, runs_it);
  return runs_it;
}

void* broadcast(ImplicitTask& task, bool sender, void* pointer) {
  if (task.team == nullptr) return pointer;
  Team& team = *task.team;
  Broadcast& turn = team.broadcast_of(task.broadcasts++);
  if (sender) {
    const auto value = reinterpret_cast<std::uintptr_t>(pointer);
    turn.value.store(value, std::memory_order_relaxed);
    turn.sent.store(true, std::memory_order_relaxed);
    if (team.self != 0) team.words.store(Rank{0}, turn.word, value);
  }
  if (!barrier(&turn)) return sender ? pointer : nullptr;
  return reinterpret_cast<void*>(turn.value.load(std::memory_order_relaxed));
}

void* construct_memory(ImplicitTask& task, std::size_t bytes) {
  const bool sender = single_begin(task);
  void* memory = sender ? own_construct_memory(task, bytes) : nullptr;
  memory = broadcast(task, sender, memory);
  // The results of a cancelled region's threads are unused: any memory will do.
  return memory != nullptr ? memory : own_construct_memory(task, bytes);
}

void free_construct_memory(ImplicitTask& task) {
  while (ConstructMemory* block = task.memory) {
    task.memory = block->next;
    free_shared(block);
  }
}

}  // namespace musubi::omp
