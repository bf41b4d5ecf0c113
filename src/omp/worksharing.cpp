#include "omp/worksharing.h"

#include "omp/backoff.h"
#include "omp/doacross.h"
#include "omp/job.h"
#include "omp/open_singles.h"
#include "omp/shared_memory.h"
#include "omp/team.h"

namespace musubi::omp {
namespace {

// The words of one slot.
enum SlotWord : std::size_t { position = 0, turn = 1, leavers = 2, epoch = 3 };

constexpr std::uint32_t ring = words::loop_slot_count;

class Slot {
 public:
  Slot(TeamWords& team_words, std::uint32_t instance)
      : words_(team_words),
        owner_(team_words.owner_of(instance % ring)),
        base_(words::loop_slots + instance % ring * words::loop_slot_words) {}

  std::uint64_t load(SlotWord word) { return words_.load(owner_, base_ + word); }
  void store(SlotWord word, std::uint64_t value) { words_.store(owner_, base_ + word, value); }
  std::uint64_t fetch_add(SlotWord word, std::uint64_t amount) {
    return words_.fetch_add(owner_, base_ + word, amount);
  }
  std::uint64_t compare_swap(SlotWord word, std::uint64_t expected, std::uint64_t desired) {
    return words_.compare_swap(owner_, base_ + word, expected, desired);
  }
  // By the last thread that leaves a loop: the slot is ready for the loop one ring later.
  void recycle() {
    store(position, 0);
    store(turn, 0);
    store(leavers, 0);
    fetch_add(epoch, 1);
  }
  bool is_ready_for(std::uint32_t instance) {
    constexpr std::uint64_t mask = (std::uint64_t{1} << 32) / ring - 1;  // instance numbers wrap around
    return (load(epoch) & mask) == instance / ring;
  }

 private:
  TeamWords& words_;
  Rank owner_;
  std::size_t base_;
};

Slot slot_of(const Loop& loop) {
  return Slot(Job::current()->words, loop.instance);
}

// Whether each thread may overshoot the end by one chunk without wrapping around. Then a plain addition hands
// out the chunks, and the last thread to overshoot knows by its position that it is the last.
bool additions_fit(std::uint64_t count, std::uint64_t chunk, std::uint32_t threads) {
  std::uint64_t beyond, highest;
  return !__builtin_mul_overflow(chunk, std::uint64_t{threads} + 1, &beyond) &&
         !__builtin_add_overflow(count, beyond, &highest);
}

void leave_slot(const ImplicitTask& task, Slot& slot) {
  if (slot.fetch_add(leavers, 1) + 1 == task.size) slot.recycle();
}

bool next_by_addition(ImplicitTask& task) {
  Loop& loop = task.loop;
  const std::uint64_t count = loop.specification.space.count, chunk = loop.chunk_size;
  Slot slot = slot_of(loop);
  const std::uint64_t first = slot.fetch_add(position, chunk);
  if (first < count) {
    loop.chunk = {first, first + std::min(chunk, count - first)};
    return true;
  }
  const std::uint64_t first_beyond = ((count - 1) / chunk + 1) * chunk;
  if (first == first_beyond + (task.size - 1) * chunk) slot.recycle();
  return false;
}

bool next_by_exchange(ImplicitTask& task) {
  Loop& loop = task.loop;
  const LoopSpecification& specification = loop.specification;
  const std::uint64_t count = specification.space.count, chunk = loop.chunk_size;
  Slot slot = slot_of(loop);
  std::uint64_t first = slot.load(position);
  while (first < count) {
    const std::uint64_t remaining = count - first;
    const std::uint64_t size = specification.schedule == Schedule::guided
                                   ? guided_size(remaining, task.size, chunk)
                                   : std::min(chunk, remaining);
    const std::uint64_t seen = slot.compare_swap(position, first, first + size);
    if (seen == first) {
      loop.chunk = {first, first + size};
      return true;
    }
    first = seen;
  }
  leave_slot(task, slot);
  return false;
}

bool next_static(ImplicitTask& task) {
  Loop& loop = task.loop;
  const std::uint64_t count = loop.specification.space.count, share = loop.next_share++;
  if (loop.specification.chunk == 0) {
    loop.chunk = share == 0 ? static_share(count, task.size, task.number) : Chunk{};
  } else {
    // Neither product can wrap around before chunk_number says that the end is reached.
    loop.chunk = chunk_number(count, loop.specification.chunk, share * task.size + task.number);
  }
  if (loop.chunk.first < loop.chunk.last) return true;
  if (loop.shared) {
    Slot slot = slot_of(loop);
    leave_slot(task, slot);
  }
  return false;
}

bool next_alone(Loop& loop) {
  const std::uint64_t count = loop.specification.space.count;
  loop.chunk = chunk_number(count, loop.specification.one_by_one ? 1 : count, loop.next_share++);
  return loop.chunk.first < loop.chunk.last;
}

bool next_chunk(ImplicitTask& task) {
  Loop& loop = task.loop;
  if (task.size == 1) return next_alone(loop);
  if (loop.specification.space.count == 0) return false;
  switch (loop.specification.schedule) {
    case Schedule::dynamic:
      return loop.by_addition ? next_by_addition(task) : next_by_exchange(task);
    case Schedule::guided:
      return next_by_exchange(task);
    case Schedule::static_chunks:
    case Schedule::automatic:
      break;
  }
  return next_static(task);
}

void wait_for_turn(Loop& loop) {
  Slot slot = slot_of(loop);
  Backoff backoff;
  while (slot.load(turn) != loop.chunk.first) backoff.pause();
  loop.has_turn = true;
}

// The chunk is over: the next one may enter its ordered regions. A chunk that met no ordered region waits all
// the same, or the turn would jump over earlier chunks.
void pass_turn(Loop& loop) {
  if (!loop.has_turn) wait_for_turn(loop);
  slot_of(loop).store(turn, loop.chunk.last);
  loop.has_turn = false;
}

}  // namespace

void apply_run_schedule(const ImplicitTask& task, LoopSpecification& specification) {
  const RunSchedule& schedule = task.icv.schedule;
  specification.schedule = schedule.kind == Schedule::automatic ? Schedule::static_chunks : schedule.kind;
  specification.chunk = schedule.kind == Schedule::automatic ? 0 : schedule.chunk;
}

void loop_begin(ImplicitTask& task, const LoopSpecification& specification) {
  Loop& loop = task.loop;
  loop = Loop{};
  loop.specification = specification;
  loop.finished = false;
  const bool is_static =
      specification.schedule == Schedule::static_chunks || specification.schedule == Schedule::automatic;
  loop.shared = task.size > 1 && specification.space.count > 0 && (!is_static || specification.ordered);
  if (!loop.shared) return;
  const std::uint64_t count = specification.space.count;
  loop.chunk_size = std::max<std::uint64_t>(1, std::min(specification.chunk, count));
  loop.by_addition = additions_fit(count, loop.chunk_size, task.size);
  loop.instance = task.loops++;
  if (task.loops_since_barrier++ < ring) return;
  Slot slot = slot_of(loop);
  Backoff backoff;
  while (!slot.is_ready_for(loop.instance)) backoff.pause();
}

bool loop_next(ImplicitTask& task) {
  Loop& loop = task.loop;
  if (loop.finished) return false;
  const bool held_chunk = loop.chunk.first < loop.chunk.last;
  if (held_chunk && task.size > 1) {
    if (loop.specification.ordered) pass_turn(loop);
    if (loop.doacross) doacross_leave_chunk(task);
  }
  if (!next_chunk(task)) {
    loop.chunk = {};
    loop.finished = true;
    return false;
  }
  if (loop.doacross && task.size > 1) doacross_enter_chunk(task);
  return true;
}

void ordered_begin(ImplicitTask& task) {
  Loop& loop = task.loop;
  if (task.size == 1 || !loop.specification.ordered || loop.has_turn) return;
  wait_for_turn(loop);
  Job& job = *Job::current();
  if (job.ranks > 1) job.runtime.acquire();
}

void ordered_end(ImplicitTask& task) {
  const Loop& loop = task.loop;
  if (task.size == 1 || !loop.specification.ordered) return;
  Job& job = *Job::current();
  if (job.ranks > 1) job.runtime.release();
}

bool single_begin(ImplicitTask& task) {
  if (task.size == 1) return true;
  Job& job = *Job::current();
  // Always a thread of rank 0, which has members in every team: the first of them to come. Nobody there comes
  // to number n before n-1 was claimed, so the word holds n-1 or more: whoever moves it to n has won.
  std::uint32_t before = task.singles++;
  const bool runs_it = job.self == 0 && job.last_single.compare_exchange_strong(before, task.singles);
  note_single(task, task.singles, runs_it);
  return runs_it;
}

void* broadcast(ImplicitTask& task, bool sender, void* pointer) {
  if (task.size == 1) return pointer;
  // Two words in turn: the word of the next broadcast but one is written only behind the next barrier, and by
  // then every thread of the rank has read this one.
  std::atomic<std::uintptr_t>& word = Job::current()->broadcasts[task.broadcasts++ % 2];
  if (sender) word.store(reinterpret_cast<std::uintptr_t>(pointer), std::memory_order_relaxed);
  barrier(&word);
  return reinterpret_cast<void*>(word.load(std::memory_order_relaxed));
}

void* construct_memory(ImplicitTask& task, std::size_t bytes) {
  const bool sender = single_begin(task);
  void* memory = nullptr;
  if (sender) {
    constexpr std::size_t header = 64;  // keeps what follows aligned
    auto* block = static_cast<ConstructMemory*>(allocate_shared_zeroed(header, header + bytes));
    block->next = task.memory;
    task.memory = block;
    memory = reinterpret_cast<std::byte*>(block) + header;
  }
  return broadcast(task, sender, memory);
}

void free_construct_memory(ImplicitTask& task) {
  while (ConstructMemory* block = task.memory) {
    task.memory = block->next;
    free_shared(block);
  }
}

}  // namespace musubi::omp
