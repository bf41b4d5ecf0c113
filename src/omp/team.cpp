#include "omp/team.h"

#include <bit>

#include "base/check.h"
#include "omp/backoff.h"
#include "omp/cancellation.h"
#include "omp/job.h"
#include "omp/open_singles.h"
#include "omp/task_waits.h"
#include "omp/travelling_tasks.h"
#include "runtime/threads/tracing.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {
namespace {

// Tasks up to this depth are deferred even if no thread is hungry: large tasks lie ready when one comes.
std::uint32_t depth_near_root(std::uint32_t threads) {
  return threads == 1 ? 0 : 4 + static_cast<std::uint32_t>(std::bit_width(threads - 1));
}

// Whether the word holds an older number. Numbers wrap around.
bool is_before(std::uint32_t seen, std::uint32_t number) {
  return static_cast<std::int32_t>(seen - number) < 0;
}

}  // namespace

Team::Team(runtime::Runtime& runtime_of_process, TeamWords& words_of_team, Crew& crew_of_team,
           InnerTeam* inner_team)
    : runtime(runtime_of_process),
      words(words_of_team),
      crew(crew_of_team),
      inner(inner_team),
      ranks(words.ranks()),
      self(inner_team == nullptr ? runtime.self().value : 0),
      threads_(runtime.settings(), ranks),
      tasks_(&runtime.threads()) {}

void Team::open(const Region& region, ImplicitTask* opener) {
  MUSUBI_CHECK(!is_open());
  MUSUBI_CHECK(region.size > 1);
  region_ = region;
  opener_ = opener;
  placement_ = Placement(region.size, threads_, region.spacing);
  members_kept_ = inner == nullptr ? members_here_ : 0;
  members_here_ = placement_.members_on(self);
  const bool defers_all = runtime.settings().steal_always;
  tasks_.open(members_here_, defers_all ? UINT32_MAX : depth_near_root(region.size));
  if (travelling != nullptr) travelling->open();
  cancelled_.store(false, std::memory_order_relaxed);
  reductions.restart();
  open_.store(true, std::memory_order_relaxed);
}

void Team::close() {
  MUSUBI_CHECK(is_open());
  if (travelling != nullptr) travelling->close();
  tasks_.close();
  // The threads of an inner team now serve other teams.
  if (inner != nullptr) tasks_.bell().ring();
  open_.store(false, std::memory_order_relaxed);
}

void Team::report_disagreement() {
  end_job(runtime,
          "the threads of a team met different barriers (one its end, another a barrier inside the region): "
          "every thread of a team must meet the same barriers in the same order");
}

// A barrier of all ranks. Where tasks travel, the ranks meet twice: no task is left at the second meeting, in
// which no program code runs.
void Team::pass_ranks(runtime::BarrierPayload& payload) {
  if (travelling != nullptr) travelling->meet(implicit_task().seat);
  runtime.synchronization().barrier(payload);
  if (travelling != nullptr && kind_of(payload) == BarrierKind::inside_region) travelling->open();
}

// A barrier inside the region, of all ranks.
void Team::meet_ranks(Broadcast* broadcast) {
  const bool sent = broadcast != nullptr && broadcast->sent.exchange(false, std::memory_order_relaxed);
  if (ranks == 1) return;
  runtime::BarrierPayload payload = encode(BarrierKind::inside_region);
  if (sent) {
    payload[1] = broadcast->value.load(std::memory_order_relaxed);
    payload[2] = 1;
  }
  pass_ranks(payload);
  if (kind_of(payload) != BarrierKind::inside_region) report_disagreement();
  if (broadcast == nullptr || sent) return;
  const bool came_from_first = payload[2] != 0;
  broadcast->value.store(came_from_first ? payload[1] : words.load(Rank{0}, broadcast->word),
                         std::memory_order_relaxed);
}

// The rank's tasks have ended before the ranks meet.
bool Team::meet(Broadcast* broadcast) {
  MUSUBI_CHECK(is_open());
  TaskSeat& seat = *implicit_task().seat;
  const auto meet_others = [&] {
    run_tasks_to_the_end(seat);
    meet_ranks(broadcast);
  };
  if (!cancellation_enabled()) {
    barrier_.arrive(tasks_.bell(), members_here_, meet_others,
                    [&](auto over) { run_tasks_until(seat, nullptr, over); });
    return true;
  }
  if (is_cancelled()) return false;
  Backoff backoff(runtime::Wait::barrier);
  return barrier_.arrive_or_leave(members_here_, meet_others, [&] {
    if (!run_one_task(seat, nullptr)) backoff.pause();
    return !is_cancelled();
  });
}

// In a cancelled region, rank 0 meets all ranks once more before the join, so that none waits in a barrier
// inside.
void Team::join() {
  MUSUBI_CHECK(is_open());
  if (cancellation_enabled()) {
    barrier_.reset();
    for (Broadcast& broadcast : broadcasts_) broadcast.sent.store(false, std::memory_order_relaxed);
    if (self == 0 && is_cancelled()) meet_ranks(nullptr);
  }
  while (ranks > 1) {
    runtime::BarrierPayload payload = encode(BarrierKind::join);
    pass_ranks(payload);
    if (kind_of(payload) == BarrierKind::join) return;
    if (kind_of(payload) != BarrierKind::inside_region || !is_cancelled()) report_disagreement();
  }
}

void Team::attend() {
  MUSUBI_CHECK(is_open() && members_here_ == 0);
  const runtime::Waiting wait(runtime::Wait::region);
  while (true) {
    runtime::BarrierPayload payload{};
    pass_ranks(payload);
    if (kind_of(payload) == BarrierKind::join) return;
    if (kind_of(payload) != BarrierKind::inside_region) report_disagreement();
  }
}

bool Team::is_cancelled() {
  if (!cancellation_enabled()) return false;
  if (cancelled_.load(std::memory_order_relaxed)) return true;
  if (words.load(Rank{0}, words::cancelled_region) == 0) return false;
  cancelled_.store(true, std::memory_order_relaxed);
  return true;
}

void Team::cancel() {
  MUSUBI_CHECK(is_open() && cancellation_enabled());
  words.store(Rank{0}, words::cancelled_region, 1);
  cancelled_.store(true, std::memory_order_relaxed);
}

// The first thread of a rank asks for the rank, and the first rank to ask gets it.
bool Team::claim_single(std::uint32_t number) {
  MUSUBI_CHECK(is_open());
  std::uint32_t seen = last_single_.load(std::memory_order_relaxed);
  do {
    if (!is_before(seen, number)) return false;
  } while (!last_single_.compare_exchange_weak(seen, number));
  if (ranks == 1) return true;
  Backoff backoff(runtime::Wait::single, number);
  while (true) {
    const std::uint32_t previous = number - 1;
    seen = static_cast<std::uint32_t>(words.compare_swap(Rank{0}, words::claimed_single, previous, number));
    if (seen == previous) return true;
    if (!is_before(seen, number)) return false;
    backoff.pause();  // another thread of this rank is about to ask for an earlier one
  }
}

std::uint32_t Team::newest_single() {
  if (ranks == 1) return last_single_.load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>(words.load(Rank{0}, words::claimed_single));
}

bool barrier(Broadcast* broadcast, events::Sync kind) {
  const events::SyncScope scope(kind);
  ImplicitTask& task = implicit_task();
  task.loops_since_barrier = 0;
  if (cancellation_enabled())
    ++task.barriers;  // only if necessary: it is on a stack, and each change there
                      // is released
  if (task.team == nullptr) {
    if (task.seat != nullptr) run_tasks_to_the_end(*task.seat);
    return true;
  }
  end_own_single(task);
  if (task.team->ranks > 1) task.first_awaited = task.last_awaited;
  const runtime::Waiting wait(runtime::Wait::barrier);
  const runtime::Traced traced(runtime::Event::team_barrier, task.number);
  return task.team->meet(broadcast);
}

}  // namespace musubi::omp
