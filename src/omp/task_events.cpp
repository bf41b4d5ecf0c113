// A table per rank, by the number in the handles of its events.
#include "omp/task_events.h"

#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/spin_lock.h"
#include "omp/cancellation.h"
#include "omp/job.h"
#include "omp/running_tasks.h"

namespace musubi::omp {
namespace {

// A handle: rank, use of the slot, and slot + 1, so that no handle is 0.
constexpr unsigned use_shift = 24, rank_shift = 48;
constexpr std::uint64_t slot_mask = (1 << use_shift) - 1, use_mask = (1 << (rank_shift - use_shift)) - 1;

struct Slot {
  TaskEvent* event = nullptr;  // null: not in use
  std::uint64_t uses = 0;
  std::size_t next_unused = 0;  // + 1; 0: none
};

// Global, as is the state of a thread: handles of programs carry nothing.
constinit struct {
  SpinLock lock;
  std::vector<Slot, FrameAllocator<Slot>> slots MUSUBI_GUARDED_BY(lock);
  std::size_t first_unused MUSUBI_GUARDED_BY(lock) = 0;
} table;

std::uint64_t rank_of_process() {
  const Job* const job = Job::current();
  return job != nullptr ? job->self : 0;
}

// The event with that handle, or null.
TaskEvent* find_event(EventHandle handle) {
  const std::uint64_t slot = (handle & slot_mask) - 1;
  const Held held(table.lock);
  if (slot >= table.slots.size()) return nullptr;
  TaskEvent* const event = table.slots[slot].event;
  return event != nullptr && event->name() == handle ? event : nullptr;
}

// A task that was dropped has no event any more.
void refuse_handle() {
  if (cancellation_enabled()) return;
  end_job(
      Job::require("omp_fulfill_event").runtime,
      "omp_fulfill_event was called for an event that is not awaited: fulfil the event of each detached task "
      "once");
}

// At the rank of the event, on a thread that must not touch shared memory.
class Fulfilments final : public runtime::Procedure {
 public:
  runtime::Answer run(Rank, std::span<const std::byte> request, std::span<std::byte>) noexcept override {
    EventHandle handle = 0;
    if (request.size() == sizeof handle) std::memcpy(&handle, request.data(), sizeof handle);
    TaskEvent* const event = find_event(handle);
    if (event == nullptr || event->record == nullptr) return {-1, 0};
    event->record->group->arena->post(*event);
    return {};
  }
};
constexpr runtime::ProcedureId fulfil_procedure{15};  // 16 and above: image/process

// At another rank.
void fulfil_at(Rank rank, EventHandle handle) {
  runtime::Runtime& runtime = Job::require("omp_fulfill_event").runtime;
  if (rank.value >= runtime.ranks()) return refuse_handle();
  runtime.synchronization().flush();
  const auto request = std::as_bytes(std::span(&handle, 1));
  if (runtime.remote_calls().call(rank, fulfil_procedure, request, {}).status != 0) refuse_handle();
}

}  // namespace

EventHandle make_task_event() {
  const std::uint64_t rank = rank_of_process();
  const Held held(table.lock);
  if (table.first_unused == 0) {
    table.slots.emplace_back();
    table.first_unused = table.slots.size();
  }
  const std::size_t number = table.first_unused;
  Slot& slot = table.slots[number - 1];
  table.first_unused = std::exchange(slot.next_unused, 0);
  const EventHandle handle = rank << rank_shift | (++slot.uses & use_mask) << use_shift | number;
  slot.event = new (frame_allocate(sizeof(TaskEvent))) TaskEvent(handle);
  return handle;
}

TaskEvent* expect_task_event(EventHandle handle, TaskRecord& record) {
  TaskEvent* const event = find_event(handle);
  MUSUBI_CHECK(event != nullptr);
  event->record = &record;
  return event;
}

void forget_task_event(TaskEvent* event) {
  const std::size_t number = event->name() & slot_mask;
  {
    const Held held(table.lock);
    Slot& slot = table.slots[number - 1];
    slot.event = nullptr;
    slot.next_unused = std::exchange(table.first_unused, number);
  }
  frame_free(event, sizeof(TaskEvent));
}

void serve_task_events(runtime::Runtime& runtime) {
  if (runtime.ranks() > 1) runtime.remote_calls().serve(fulfil_procedure, *make_private<Fulfilments>());
}

void end_posted_tasks(TaskArena& arena) {
  TaskEvent* event = arena.take_posted();
  if (event == nullptr) return;
  Job::current()->runtime.synchronization().flush();
  while (event != nullptr) {
    TaskEvent* const next = event->next;
    TaskRecord& record = *event->record;
    if (event->fulfil()) end_record(record, nullptr);
    event = next;
  }
}

void fulfil_task_event(EventHandle handle) {
  const std::uint64_t rank = handle >> rank_shift;
  if (rank != rank_of_process()) return fulfil_at(Rank{static_cast<std::uint32_t>(rank)}, handle);
  TaskEvent* const event = find_event(handle);
  if (event == nullptr || event->record == nullptr) return refuse_handle();
  TaskRecord& record = *event->record;
  if (event->fulfil()) end_record(record, nullptr);
}

}  // namespace musubi::omp
