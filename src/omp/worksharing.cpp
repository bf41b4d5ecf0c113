#include "omp/worksharing.h"

#include "omp/backoff.h"
#include "omp/cancellation.h"
#include "omp/team.h"
#include "os/clock.h"

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

  // For the data that chunks of an ordered loop pass on with their turn.
  std::uint64_t channel() const { return channel_of(base_ + turn); }
  std::uint64_t load(SlotWord word) { return words_.load(owner_, base_ + word); }
  void store(SlotWord word, std::uint64_t value) { words_.store(owner_, base_ + word, value); }
  std::uint64_t fetch_add(SlotWord word, std::uint64_t amount) {
    return words_.fetch_add(owner_, base_ + word, amount);
  }
  std::uint64_t compare_swap(SlotWord word, std::uint64_t expected, std::uint64_t desired) {
    return words_.compare_swap(owner_, base_ + word, expected, desired);
  }
  // Called by the last thread that leaves a loop: makes the slot ready for the loop one ring later.
  void recycle() {
    clear();
    fetch_add(epoch, 1);
  }
  void clear() {
    store(position, 0);
    store(turn, 0);
    store(leavers, 0);
  }
  // The state before the first loop of the job.
  void start_anew() {
    clear();
    store(epoch, 0);
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

Slot slot_of(const ImplicitTask& task) {
  return Slot(task.team->words, task.loop.instance);
}

// Whether each thread may overshoot the end by one chunk without wrapping around. Then a plain addition hands
// out the chunks, and the last thread to overshoot recognises by its position that it is the last. Batches
// overshoot by at most the whole loop.
bool additions_fit(std::uint64_t count, std::uint64_t chunk, std::uint32_t threads) {
  std::uint64_t beyond, highest;
  return !__builtin_mul_overflow(chunk, std::uint64_t{threads} + 1, &beyond) &&
         !__builtin_add_overflow(count, beyond, &highest) &&
         !__builtin_add_overflow(count, highest, &highest);
}

void leave_slot(const ImplicitTask& task, Slot& slot) {
  if (slot.fetch_add(leavers, 1) + 1 == task.size) slot.recycle();
}

// The first position after the end that plain additions hand out.
std::uint64_t first_beyond(std::uint64_t count, std::uint64_t chunk) {
  return ((count - 1) / chunk + 1) * chunk;
}

bool next_by_addition(ImplicitTask& task) {
  Loop& loop = task.loop;
  const std::uint64_t count = loop.specification.space.count, chunk = loop.chunk_size;
  Slot slot = slot_of(task);
  const std::uint64_t first = slot.fetch_add(position, chunk);
  if (first < count) {
    loop.chunk = {first, first + std::min(chunk, count - first)};
    return true;
  }
  if (first == first_beyond(count, chunk) + (task.size - 1) * chunk) slot.recycle();
  return false;
}

// Chunks that other threads wait for in order are taken one by one.
bool takes_batches(const ImplicitTask& task) {
  const Loop& loop = task.loop;
  return !loop.specification.ordered && !loop.doacross && !task.team->words.all_within_reach();
}

// One round trip for several chunks. Batches differ in size, so a position does not identify the last thread
// to overshoot.
bool take_batch(ImplicitTask& task) {
  Loop& loop = task.loop;
  const std::uint64_t count = loop.specification.space.count, chunk = loop.chunk_size;
  const std::uint64_t rest = (count - loop.batch.last) / chunk;
  const std::uint64_t asked_ns = os::monotonic_ns();
  const std::uint64_t chunks = loop.pace.next(asked_ns, rest, task.size);
  Slot slot = slot_of(task);
  const std::uint64_t first = slot.fetch_add(position, chunks * chunk);
  loop.pace.note_batch(asked_ns, os::monotonic_ns(), chunks);
  if (first >= count) {
    leave_slot(task, slot);
    return false;
  }
  loop.batch = {first, first + std::min(chunks * chunk, count - first)};
  return true;
}

bool next_of_batch(ImplicitTask& task) {
  Loop& loop = task.loop;
  if (loop.batch.first == loop.batch.last && !take_batch(task)) return false;
  loop.chunk = {loop.batch.first, std::min(loop.batch.first + loop.chunk_size, loop.batch.last)};
  loop.batch.first = loop.chunk.last;
  return true;
}

bool next_by_exchange(ImplicitTask& task) {
  Loop& loop = task.loop;
  const LoopSpecification& specification = loop.specification;
  const std::uint64_t count = specification.space.count, chunk = loop.chunk_size;
  Slot slot = slot_of(task);
  // The end of this thread's last chunk: right if no other thread has taken one since, otherwise the exchange
  // fails.
  std::uint64_t first = loop.chunk.last;
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
    // Neither product can wrap around before chunk_number reports the end.
    loop.chunk = chunk_number(count, loop.specification.chunk, share * task.size + task.number);
  }
  if (loop.chunk.first < loop.chunk.last) return true;
  if (loop.shared) {
    Slot slot = slot_of(task);
    leave_slot(task, slot);
  }
  return false;
}

bool next_alone(Loop& loop) {
  const std::uint64_t count = loop.specification.space.count;
  loop.chunk = chunk_number(count, loop.specification.one_by_one ? 1 : count, loop.next_share++);
  return loop.chunk.first < loop.chunk.last;
}

// A word records how far the loop has been handed out.
bool hands_out_chunks(const Loop& loop) {
  const Schedule schedule = loop.specification.schedule;
  return schedule == Schedule::dynamic || schedule == Schedule::guided;
}

bool next_chunk(ImplicitTask& task) {
  Loop& loop = task.loop;
  if (task.size == 1) return next_alone(loop);
  if (loop.specification.space.count == 0) return false;
  switch (loop.specification.schedule) {
    case Schedule::dynamic:
      if (!loop.by_addition) return next_by_exchange(task);
      return takes_batches(task) ? next_of_batch(task) : next_by_addition(task);
    case Schedule::guided:
      return next_by_exchange(task);
    case Schedule::static_chunks:
    case Schedule::automatic:
      break;
  }
  return next_static(task);
}

void wait_for_turn(ImplicitTask& task) {
  Loop& loop = task.loop;
  Slot slot = slot_of(task);
  Backoff backoff(runtime::Wait::turn, loop.chunk.first);
  while (slot.load(turn) != loop.chunk.first) backoff.pause();
  loop.has_turn = true;
}

// Ends the chunk: the next chunk may enter its ordered regions. A chunk without an ordered region waits all
// the same, or the turn would skip earlier chunks.
void pass_turn(ImplicitTask& task) {
  Loop& loop = task.loop;
  if (!loop.has_turn) wait_for_turn(task);
  slot_of(task).store(turn, loop.chunk.last);
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
  events::loop_begins(specification);
  const bool is_static =
      specification.schedule == Schedule::static_chunks || specification.schedule == Schedule::automatic;
  loop.shared = task.size > 1 && specification.space.count > 0 && (!is_static || specification.ordered);
  if (!loop.shared) return;
  const std::uint64_t count = specification.space.count;
  loop.chunk_size = std::max<std::uint64_t>(1, std::min(specification.chunk, count));
  loop.by_addition = additions_fit(count, loop.chunk_size, task.size);
  loop.instance = task.loops++;
  if (task.loops_since_barrier++ < ring) return;
  Slot slot = slot_of(task);
  Backoff backoff(runtime::Wait::loop);
  while (!slot.is_ready_for(loop.instance)) {
    if (region_is_cancelled(task)) {
      loop.finished = true;
      return;
    }
    backoff.pause();
  }
}

void loop_end(ImplicitTask& task) {
  Loop& loop = task.loop;
  events::work_ends();
  if (loop.finished) return;
  loop.finished = true;
  if (!loop.shared) return;
  Slot slot = slot_of(task);
  if (!hands_out_chunks(loop)) {
    leave_slot(task, slot);
    return;
  }
  const std::uint64_t count = loop.specification.space.count;
  const bool adds = loop.specification.schedule == Schedule::dynamic && loop.by_addition;
  const std::uint64_t end = adds ? first_beyond(count, loop.chunk_size) : count;
  loop.batch = {count, count};
  for (std::uint64_t seen = slot.load(position); seen < count;) {
    const std::uint64_t before = slot.compare_swap(position, seen, end);
    if (before == seen) break;
    seen = before;
  }
  next_chunk(task);  // finds none, and leaves
}

void renumber_constructs(ImplicitTask& task) {
  Team& team = *task.team;
  task.loops = 0;
  for (std::uint32_t slot = 0; slot < ring; ++slot) Slot(team.words, slot).start_anew();
  task.singles = team.newest_single();
}

bool loop_next(ImplicitTask& task) {
  Loop& loop = task.loop;
  if (loop.finished) return false;
  const bool held_chunk = loop.chunk.first < loop.chunk.last;
  if (held_chunk && task.size > 1) {
    if (loop.specification.ordered) pass_turn(task);
    if (loop.doacross) doacross_leave_chunk(task);
  }
  if (!next_chunk(task)) {
    loop.chunk = {};
    loop.finished = true;
    return false;
  }
  if (loop.doacross && task.size > 1) doacross_enter_chunk(task);
  events::chunk(task);
  return true;
}

void ordered_begin(ImplicitTask& task) {
  Loop& loop = task.loop;
  events::mutex_wanted(events::Mutex::ordered, task.team);
  if (task.size > 1 && loop.specification.ordered && !loop.has_turn) {
    wait_for_turn(task);
    if (task.team->ranks > 1) task.team->runtime.synchronization().acquire(slot_of(task).channel());
  }
  events::mutex_taken(events::Mutex::ordered, task.team);
}

void ordered_end(ImplicitTask& task) {
  const Loop& loop = task.loop;
  events::mutex_given_back(events::Mutex::ordered, task.team);
  if (task.size == 1 || !loop.specification.ordered) return;
  if (task.team->ranks > 1) task.team->runtime.synchronization().release(slot_of(task).channel());
}

}  // namespace musubi::omp
