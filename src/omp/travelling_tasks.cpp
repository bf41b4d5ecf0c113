#include "omp/travelling_tasks.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

#include "base/frame_pool.h"
#include "omp/running_tasks.h"
#include "omp/task_waits.h"
#include "task_stealing/lineage.h"

namespace musubi::omp {

using task_stealing::Departure;
using task_stealing::Lineage;
using task_stealing::Origin;
using task_stealing::Reported;

namespace {

// A task on its way; its lineage follows, then its data if they are inline. Addresses of code and of shared
// memory are the same at every rank.
struct Image {
  void (*function)(void*);
  void* data;
  TaskReductions* reductions;  // of the groups around it
  TaskRecord::Settings settings;
  std::uint32_t depth;
  std::int32_t priority;
  std::uint32_t bytes;
  std::uint32_t alignment;
  TaskKind kind;
  TaskAbi abi;
  bool final;
  bool owns_data;
};
static_assert(std::is_trivially_copyable_v<Image> && std::is_trivially_copyable_v<Lineage>);
constexpr std::size_t image_bytes_max = sizeof(Image) + sizeof(Lineage) + TaskRecord::inline_bytes_max;

TaskReductions* reductions_around(const TaskGroup* group) {
  while (group != nullptr && group->reductions == nullptr) group = group->outer;
  return group == nullptr ? nullptr : group->reductions;
}

// Result: bytes written.
std::size_t pack(const TaskRecord& record, const Lineage& lineage, std::byte* to) {
  Image image;
  image.function = record.function;
  image.data = record.data;
  image.reductions = reductions_around(record.group);
  image.settings = record.settings;
  image.depth = record.depth;
  image.priority = record.priority;
  image.bytes = record.bytes;
  image.alignment = record.alignment;
  image.kind = record.kind;
  image.abi = record.abi;
  image.final = record.final;
  image.owns_data = record.owns_data;
  std::byte* at = to;
  const auto append = [&at](const void* from, std::size_t bytes) {
    std::memcpy(at, from, bytes);
    at += bytes;
  };
  append(&image, sizeof image);
  append(&lineage, lineage.bytes());
  if (record.is_inline()) append(record.inline_data.data(), record.bytes);
  return static_cast<std::size_t>(at - to);
}

// Fills in the record. Result: its lineage.
Lineage unpack(std::span<const std::byte> bytes, TaskRecord& record, TaskReductions*& reductions) {
  Image image;
  std::memcpy(&image, bytes.data(), sizeof image);
  Lineage lineage;
  const std::span<const std::byte> rest = bytes.subspan(sizeof image);
  std::memcpy(static_cast<void*>(&lineage), rest.data(), std::min(rest.size(), sizeof lineage));
  reductions = image.reductions;
  record.function = image.function;
  record.data = image.data;
  record.settings = image.settings;
  record.depth = image.depth;
  record.priority = image.priority;
  record.bytes = image.bytes;
  record.alignment = image.alignment;
  record.kind = image.kind;
  record.abi = image.abi;
  record.final = image.final;
  record.owns_data = image.owns_data;
  if (record.is_inline()) std::memcpy(record.inline_data.data(), rest.data() + lineage.bytes(), image.bytes);
  return lineage;
}

}  // namespace

// A task from another rank with all that it makes.
struct TravellingTasks::Subtree {
  Subtree(const Origin& origin_of_task, const Lineage& lineage_of_task, TaskGroup* around, TaskArena& arena,
          Family& family_of_task)
      : group(around, TaskGroup::Kind::subtree, &arena),
        origin(origin_of_task),
        lineage(lineage_of_task),
        family(family_of_task) {}

  TaskGroup group;  // first: the group's address is the subtree's
  const Origin origin;
  const Lineage lineage;
  Family& family;  // stands for the task's parent
  bool owes_end = false;
};

bool TravellingTasks::begin() {
  return runtime_.task_travel().begin(*this);
}

void TravellingTasks::meet(TaskSeat* seat) {
  runtime::TaskTravel& travel = runtime_.task_travel();
  const std::uint64_t meeting = travel.come();
  const auto over = [&] { return stealing().is_over(meeting); };
  if (seat != nullptr) {
    run_tasks_until(*seat, nullptr, over);
  } else {
    while (!over()) {
      const std::uint32_t seen = arena_.bell().prepare();
      if (!over()) arena_.bell().sleep(seen);
    }
  }
  close();
  travel.pass_on(meeting);
}

// ---- members ----

void TravellingTasks::wait_begins(const Family* within) noexcept {
  if (within == nullptr) {
    free_waits_.fetch_add(1);
    return stealing().note_hungry();
  }
  bound_waits_.fetch_add(1);
  stealing().want_back([within](std::uint64_t task) {
    return reinterpret_cast<const TaskRecord*>(task)->parent->descends_from(*within);
  });
}

void TravellingTasks::wait_ends(const Family* within) noexcept {
  if (within == nullptr) {
    free_waits_.fetch_sub(1);
  } else if (bound_waits_.fetch_sub(1) == 1) {
    stealing().forget_wishes();
  }
}

// Where the task was the last of its subtree, one report tells both. A range makes tasks that count as its
// siblings: it ends with them.
void TravellingTasks::foreign_task_ended(TaskRecord& record) noexcept {
  auto* const subtree = reinterpret_cast<Subtree*>(record.origin);
  if (record.kind == TaskKind::range || subtree->group.unfinished.count() == 1) {
    subtree->owes_end = true;
  } else {
    stealing().report(subtree->origin, Reported::ended);
  }
}

void TravellingTasks::subtree_ended(TaskGroup& group) noexcept {
  auto* const subtree = reinterpret_cast<Subtree*>(&group);
  stealing().report(subtree->origin, subtree->owes_end ? Reported::both : Reported::subtree_ended);
  forget(subtree);
}

void TravellingTasks::forget(Subtree* subtree) noexcept {
  subtree->family.end();
  frame_free(subtree, sizeof(Subtree));
}

// ---- LocalTasks: also on threads that serve other ranks ----

// A member that sleeps has been woken for each task.
std::uint32_t TravellingTasks::load() const noexcept {
  const TaskArena::Helper helper(arena_);
  if (!is_open_.load()) return 0;
  const std::uint32_t ready = arena_.ready(), waits = free_waits_.load();
  return ready > waits ? ready - waits : 0;
}

bool TravellingTasks::is_hungry() const noexcept {
  const TaskArena::Helper helper(arena_);
  return is_open_.load() && free_waits_.load() > arena_.ready();
}

const TravellingTasks::Subtree* TravellingTasks::subtree_around(const TaskGroup* group) noexcept {
  while (group != nullptr && group->kind != TaskGroup::Kind::subtree) group = group->outer;
  return reinterpret_cast<const Subtree*>(group);
}

bool TravellingTasks::may_move(const TaskRecord& record, const Origin* below) const noexcept {
  if (!record.can_travel()) return false;
  const Subtree* subtree = subtree_around(record.group);
  if (below == nullptr) return subtree == nullptr || !subtree->lineage.is_full();
  while (subtree != nullptr && !(subtree->origin == *below)) subtree = subtree_around(subtree->group.outer);
  return subtree != nullptr;
}

bool TravellingTasks::take(const Origin* below, std::span<std::byte> room, Departure& departure) noexcept {
  if (room.size() < image_bytes_max) return false;
  const TaskArena::Helper helper(arena_);
  if (!is_open_.load()) return false;
  TaskRecord* const record =
      arena_.take_for_thief([&](const TaskRecord& other) { return may_move(other, below); });
  if (record == nullptr) return false;
  const Subtree* const around = subtree_around(record->group);
  Lineage lineage;
  if (around != nullptr) lineage = around->lineage;
  departure = {0, std::nullopt, stealing().epoch(), 0};
  if (record->is_foreign) {
    departure.origin = around->origin;
    departure.bytes = pack(*record, lineage, room.data());
    forget(reinterpret_cast<Subtree*>(record->origin));
    free_task_record(record);
    return true;
  }
  if (around != nullptr) lineage.add(around->origin);
  departure.task = reinterpret_cast<std::uintptr_t>(record);
  departure.bytes = pack(*record, lineage, room.data());
  record->parent->refer();
  return true;
}

// A thread that began to wait in the meantime has not seen them.
void TravellingTasks::departed() noexcept {
  if (bound_waits_.load() != 0) arena_.bell().ring();
}

bool TravellingTasks::is_below(std::uint64_t task, const Origin& ancestor) noexcept {
  const Subtree* subtree = subtree_around(reinterpret_cast<const TaskRecord*>(task)->group);
  while (subtree != nullptr && !(subtree->origin == ancestor)) subtree = subtree_around(subtree->group.outer);
  return subtree != nullptr;
}

void TravellingTasks::come_home(std::uint64_t task) noexcept {
  auto* const record = reinterpret_cast<TaskRecord*>(task);
  record->parent->release();  // the record still refers to it, as a child
  arena_.put(nullptr, *record);
}

// What it descends from here has not ended, since this task has not.
void TravellingTasks::arrive(const Origin& origin, std::span<const std::byte> bytes) noexcept {
  TaskRecord& record = *make_task_record();
  TaskReductions* reductions = nullptr;
  const Lineage lineage = unpack(bytes, record, reductions);
  const std::uint64_t number = lineage.number_at(runtime_.self());
  const auto* const maker =
      number == 0 ? nullptr : reinterpret_cast<const TaskRecord*>(stealing().absent_task(number));
  Family& family = *Family::make(maker == nullptr ? nullptr : maker->parent, record.depth - 1, 0);
  auto* const subtree = new (frame_allocate(sizeof(Subtree)))
      Subtree(origin, lineage, maker == nullptr ? nullptr : maker->group, arena_, family);
  subtree->group.reductions = reductions;
  subtree->group.unfinished.add();
  subtree->group.unfinished.start_waiting();
  record.parent = &family;
  record.group = &subtree->group;
  record.is_foreign = true;
  record.origin = reinterpret_cast<std::uintptr_t>(subtree);
  arena_.put(nullptr, record);
}

void TravellingTasks::ended(std::uint64_t task) noexcept {
  note_end_elsewhere(*reinterpret_cast<TaskRecord*>(task));
}

void TravellingTasks::subtree_ended(std::uint64_t task) noexcept {
  auto& record = *reinterpret_cast<TaskRecord*>(task);
  record.parent->release();
  leave_group_elsewhere(record);
}

void TravellingTasks::peer_waits(bool begins) noexcept {
  begins ? arena_.add_hungry_rank() : arena_.remove_hungry_rank();
}

void TravellingTasks::meeting_over() noexcept {
  arena_.bell().ring();
}

}  // namespace musubi::omp
