
#include <algorithm>

#include "omp/backoff.h"
#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/team.h"
#include "omp/worksharing.h"

namespace musubi::omp {
namespace {

// A word: the turn of the chunk that uses it, from 1 (upper bits), and the number of its iterations that are
// posted.
constexpr unsigned progress_bits = 44;
constexpr std::uint64_t complete = (std::uint64_t{1} << progress_bits) - 1;

struct Entry {
  Rank owner;
  std::size_t index;
  std::uint64_t turn;
};

Entry entry_of(TeamWords& team_words, std::uint64_t chunk) {
  const std::uint64_t place = chunk % words::doacross_count;
  return {team_words.owner_of(place), words::doacross + place, chunk / words::doacross_count + 1};
}

void publish(TeamWords& team_words, const Entry& entry, std::uint64_t progress) {
  team_words.store(entry.owner, entry.index, entry.turn << progress_bits | progress);
}

void wait_until(TeamWords& team_words, const Entry& entry, std::uint64_t progress) {
  Backoff backoff(runtime::Wait::iteration);
  while (team_words.load(entry.owner, entry.index) < (entry.turn << progress_bits | progress)) {
    backoff.pause();
  }
}

// The word of a chunk may still belong to an earlier one, which must be complete before the word is reused.
void await_word(TeamWords& team_words, std::uint64_t chunk) {
  if (chunk < words::doacross_count) return;
  wait_until(team_words, entry_of(team_words, chunk - words::doacross_count), complete);
}

std::uint64_t chunk_holding(const ImplicitTask& task, std::uint64_t position) {
  const LoopSpecification& specification = task.loop.specification;
  return specification.chunk == 0 ? static_owner(specification.space.count, task.size, position)
                                  : position / specification.chunk;
}

std::uint64_t first_position(const ImplicitTask& task, std::uint64_t chunk) {
  const LoopSpecification& specification = task.loop.specification;
  return specification.chunk == 0 ? static_share(specification.space.count, task.size, chunk).first
                                  : chunk * specification.chunk;
}

// Iterations of the chunk up to and including this one.
std::uint64_t progress_at(const ImplicitTask& task, std::uint64_t chunk, const std::uint64_t* coordinates) {
  const Loop& loop = task.loop;
  const std::uint64_t* inner = this_thread().inner_extents;
  unsigned __int128 progress = coordinates[0] - first_position(task, chunk);
  for (std::uint32_t depth = 1; depth < loop.nest; ++depth) {
    progress = progress * inner[depth - 1] + coordinates[depth];
    if (progress + 1 < complete) continue;
    unsupported("a doacross loop with more than 2^44 iterations in a chunk",
                "choose a smaller chunk in its schedule");
  }
  return static_cast<std::uint64_t>(progress) + 1;
}

// Whether the iteration ends its chunk.
bool is_last_of_chunk(const ImplicitTask& task, std::uint64_t chunk, const std::uint64_t* coordinates) {
  const Loop& loop = task.loop;
  const std::uint64_t* inner = this_thread().inner_extents;
  for (std::uint32_t depth = 1; depth < loop.nest; ++depth) {
    if (coordinates[depth] + 1 != inner[depth - 1]) return false;
  }
  const std::uint64_t next = coordinates[0] + 1;
  return next == loop.specification.space.count || chunk_holding(task, next) != chunk;
}

// A thread is in one nest at a time. A team of one keeps no extents.
void keep_inner_extents(std::span<const std::uint64_t> extents) {
  Thread& thread = this_thread();
  if (extents.size() > thread.inner_extents_max) {
    constexpr std::size_t page_bytes = 4096;
    const std::size_t bytes = (extents.size_bytes() + page_bytes - 1) / page_bytes * page_bytes;
    thread.inner_extents = static_cast<std::uint64_t*>(private_pages(bytes));
    thread.inner_extents_max = bytes / sizeof(std::uint64_t);
  }
  std::copy(extents.begin(), extents.end(), thread.inner_extents);
}

}  // namespace

void doacross_begin(ImplicitTask& task, const IterationSpace& space, std::span<const std::uint64_t> extents,
                    Schedule schedule, std::uint64_t chunk, bool by_shares) {
  LoopSpecification specification;
  const std::uint64_t count = space.count;
  specification.space = space;
  const bool is_static = schedule == Schedule::static_chunks || schedule == Schedule::automatic;
  // Guided chunks have no number that another thread could compute: use equal ones instead.
  specification.schedule = is_static ? Schedule::static_chunks : Schedule::dynamic;
  specification.chunk =
      is_static ? std::min(chunk, count) : std::max<std::uint64_t>(1, std::min(chunk, count));
  // The turn must fit into the bits that progress leaves.
  constexpr std::uint64_t chunks_max = std::uint64_t{1} << 29;
  if (specification.chunk != 0) specification.chunk = std::max(specification.chunk, count / chunks_max);
  if (task.team != nullptr) {
    Team& team = *task.team;
    // The words belong to one nest at a time: the first barrier ends all earlier nests, then the words are
    // cleared, then this nest starts.
    barrier(nullptr, events::Sync::internal);
    const bool clears_for_rank_without_members = task.number == 0;
    for (std::size_t place = 0; place < words::doacross_count; ++place) {
      const Rank owner = team.words.owner_of(place);
      const bool own = owner.value == team.self && task.number == team.first_here();
      const bool orphan = clears_for_rank_without_members && team.placement().members_on(owner.value) == 0;
      if (own || orphan) team.words.store(owner, words::doacross + place, 0);
    }
    barrier(nullptr, events::Sync::internal);
  }
  loop_begin(task, specification);
  task.loop.doacross = true;
  task.loop.by_shares = by_shares;
  task.loop.nest = static_cast<std::uint32_t>(extents.size());
  if (task.team != nullptr) keep_inner_extents(extents.subspan(1));
}

void doacross_enter_chunk(ImplicitTask& task) {
  await_word(task.team->words, chunk_holding(task, task.loop.chunk.first));
}

void doacross_leave_chunk(ImplicitTask& task) {
  Team& team = *task.team;
  const Entry entry = entry_of(team.words, chunk_holding(task, task.loop.chunk.first));
  if (team.ranks > 1) team.runtime.synchronization().release(channel_of(entry.index));
  publish(team.words, entry, complete);
}

void doacross_post(ImplicitTask& task, const std::uint64_t* coordinates) {
  if (task.team == nullptr) return;
  Team& team = *task.team;
  const std::uint64_t chunk = chunk_holding(task, coordinates[0]);
  const Entry entry = entry_of(team.words, chunk);
  Loop& loop = task.loop;
  if (loop.by_shares && loop.next_share != chunk + 1) {
    await_word(team.words, chunk);
    loop.next_share = chunk + 1;
  }
  if (team.ranks > 1) team.runtime.synchronization().release(channel_of(entry.index));
  // Where no call ends the chunk, its last iteration does.
  const bool ends_chunk = loop.by_shares && is_last_of_chunk(task, chunk, coordinates);
  publish(team.words, entry, ends_chunk ? complete : progress_at(task, chunk, coordinates));
}

void doacross_wait(ImplicitTask& task, const std::uint64_t* coordinates) {
  if (task.team == nullptr) return;
  Team& team = *task.team;
  const std::uint64_t chunk = chunk_holding(task, coordinates[0]);
  const Entry entry = entry_of(team.words, chunk);
  wait_until(team.words, entry, progress_at(task, chunk, coordinates));
  if (team.ranks > 1) team.runtime.synchronization().acquire(channel_of(entry.index));
}

}  // namespace musubi::omp
