#include "omp/travelling_tasks.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

#include "base/frame_pool.h"
#include "omp/running_tasks.h"
#include "omp/task_waits.h"

namespace musubi::omp {

using task_stealing::Departure;
using task_stealing::Reported;
using task_stealing::StolenFrom;

namespace {

// A task on its way. Addresses of code and of shared memory are the same at every rank.
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
  bool untied;
  bool owns_data;
  std::byte inline_data[TaskRecord::inline_bytes_max];
};
static_assert(std::is_trivially_copyable_v<Image>);

// Without the unused part of the inline data.
std::size_t bytes_of(const Image& image) {
  return offsetof(Image, inline_data) + (image.data == nullptr ? image.bytes : 0);
}

TaskReductions* reductions_around(const TaskGroup* group) {
  while (group != nullptr && group->reductions == nullptr) group = group->outer;
  return group == nullptr ? nullptr : group->reductions;
}

Image image_of(const TaskRecord& record) {
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
  image.untied = record.untied;
  image.owns_data = record.owns_data;
  if (record.is_inline()) std::memcpy(image.inline_data, record.inline_data.data(), record.bytes);
  return image;
}

}  // namespace

// A task from another rank with all that it makes.
struct TravellingTasks::Subtree {
  Subtree(const StolenFrom& origin, TaskArena& arena, Family& family_of_task)
      : group(nullptr, TaskGroup::Kind::subtree, &arena), from(origin), family(family_of_task) {}

  TaskGroup group;  // first: the group's address is the subtree's
  const StolenFrom from;
  Family& family;  // stands for the task's parent
  bool owes_end = false;
  Subtree* next = nullptr;
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
  travel.pass_on(meeting);
}

// ---- members ----

bool TravellingTasks::work_for(TaskSeat&, const Family* within) noexcept {
  if (within == nullptr) {
    member_waits_.store(true);
    stealing().note_hungry();
    return false;
  }
  const Held held(lock_);
  for (const TaskRecord* record : absent_) {
    if (record->parent->descends_from(*within))
      stealing().want_back(reinterpret_cast<std::uintptr_t>(record));
  }
  return false;
}

// Where the task was the last of its subtree, one report tells both. A range makes tasks that count as its
// siblings: it ends with them.
void TravellingTasks::foreign_task_ended(TaskRecord& record, bool here) noexcept {
  auto* const subtree = reinterpret_cast<Subtree*>(record.origin);
  if (record.kind == TaskKind::range || (here && subtree->group.unfinished.count() == 1)) {
    subtree->owes_end = true;
  } else {
    stealing().report(subtree->from, Reported::ended);
  }
}

void TravellingTasks::subtree_ended(TaskGroup& group) noexcept {
  auto* const subtree = reinterpret_cast<Subtree*>(&group);
  {
    const Held held(lock_);
    Subtree** place = &subtrees_;
    while (*place != subtree) place = &(*place)->next;
    *place = subtree->next;
  }
  stealing().report(subtree->from, subtree->owes_end ? Reported::both : Reported::subtree_ended);
  subtree->family.end();
  frame_free(subtree, sizeof(Subtree));
}

// ---- LocalTasks: also on threads that serve other ranks ----

std::uint32_t TravellingTasks::load() const noexcept {
  const TaskArena::Helper helper(arena_);
  return is_open_.load() ? arena_.ready() : 0;
}

bool TravellingTasks::is_hungry() const noexcept {
  return member_waits_.load() && load() == 0;
}

TaskGroup* TravellingTasks::group_of(const StolenFrom& from) noexcept {
  const Held held(lock_);
  Subtree* subtree = subtrees_;
  while (subtree != nullptr && !(subtree->from == from)) subtree = subtree->next;
  return subtree == nullptr ? nullptr : &subtree->group;
}

bool TravellingTasks::take(const StolenFrom* below, std::span<std::byte> room,
                           Departure& departure) noexcept {
  if (room.size() < sizeof(Image)) return false;
  const TaskArena::Helper helper(arena_);
  if (!is_open_.load()) return false;
  const TaskGroup* const group = below == nullptr ? nullptr : group_of(*below);
  if (below != nullptr && group == nullptr) return false;
  TaskRecord* record = nullptr;
  if (arena_.take_for_thief({&record, 1}, group) == 0) return false;
  const Image image = image_of(*record);
  std::memcpy(room.data(), &image, bytes_of(image));
  {
    const Held held(lock_);
    absent_.push_back(record);
  }
  departure = {reinterpret_cast<std::uintptr_t>(record), stealing().epoch(), bytes_of(image)};
  return true;
}

void TravellingTasks::forget_absent(const TaskRecord* record) noexcept {
  const Held held(lock_);
  std::erase(absent_, record);
}

void TravellingTasks::put_back(std::uint64_t task) noexcept {
  auto* const record = reinterpret_cast<TaskRecord*>(task);
  forget_absent(record);
  arena_.put(nullptr, *record);
}

void TravellingTasks::arrive(const StolenFrom& from, std::uint64_t below,
                             std::span<const std::byte> bytes) noexcept {
  Image image;
  std::memcpy(&image, bytes.data(), std::min(bytes.size(), sizeof image));
  Family* around = nullptr;
  {
    // The task that it descends from has not ended, since this one has not.
    const Held held(lock_);
    auto* const maker = reinterpret_cast<TaskRecord*>(below);
    if (std::find(absent_.begin(), absent_.end(), maker) != absent_.end()) around = maker->parent;
  }
  Family& family = *Family::make(around, image.depth - 1, 0);
  auto* const subtree = new (frame_allocate(sizeof(Subtree))) Subtree(from, arena_, family);
  subtree->group.reductions = image.reductions;
  subtree->group.unfinished.add();
  subtree->group.unfinished.start_waiting();
  TaskRecord& record = *make_task_record();
  record.function = image.function;
  record.data = image.data;
  record.parent = &family;
  record.group = &subtree->group;
  record.settings = image.settings;
  record.depth = image.depth;
  record.priority = image.priority;
  record.bytes = image.bytes;
  record.alignment = image.alignment;
  record.kind = image.kind;
  record.abi = image.abi;
  record.final = image.final;
  record.untied = image.untied;
  record.owns_data = image.owns_data;
  record.is_foreign = true;
  record.origin = reinterpret_cast<std::uintptr_t>(subtree);
  if (record.is_inline()) std::memcpy(record.inline_data.data(), image.inline_data, image.bytes);
  {
    const Held held(lock_);
    subtree->next = subtrees_;
    subtrees_ = subtree;
  }
  // A thread that runs it is no more hungry; one that finds nothing again says so.
  member_waits_.store(false);
  arena_.put(nullptr, record);
}

void TravellingTasks::ended(std::uint64_t task) noexcept {
  auto* const record = reinterpret_cast<TaskRecord*>(task);
  forget_absent(record);
  note_end_elsewhere(*record);
}

void TravellingTasks::subtree_ended(std::uint64_t task) noexcept {
  leave_group_elsewhere(*reinterpret_cast<TaskRecord*>(task));
}

void TravellingTasks::peer_waits(bool begins) noexcept {
  begins ? arena_.add_hungry_rank() : arena_.remove_hungry_rank();
}

void TravellingTasks::meeting_over() noexcept {
  member_waits_.store(false);
  arena_.bell().ring();
}

}  // namespace musubi::omp
