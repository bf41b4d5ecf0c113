#include "omp/gomp/reductions.h"

#include <new>

#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/tasks.h"
#include "omp/team.h"
#include "omp/worksharing.h"

namespace musubi::omp::gomp {
namespace {

struct Descriptor {
  std::uintptr_t* words;

  std::size_t variables() const { return words[0]; }
  std::size_t part_bytes() const { return words[1]; }
  std::uintptr_t memory() const { return words[2]; }
  Descriptor next() const { return {reinterpret_cast<std::uintptr_t*>(words[4])}; }
  std::uintptr_t variable(std::size_t i) const { return words[7 + 3 * i]; }
  std::uintptr_t offset(std::size_t i) const { return words[8 + 3 * i]; }

  // `parts`: of another thread; null: new memory.
  void take_memory(const ReductionBlock* parts, std::uint32_t threads) {
    const std::size_t bytes = words[1] * threads;
    words[2] = parts != nullptr ? parts->memory
                                : reinterpret_cast<std::uintptr_t>(allocate_shared_zeroed(words[2], bytes));
    words[6] = words[2] + bytes;
  }
};

// In one piece of shared memory, with its blocks and variables. `model`: of a thread that has given the same
// chain memory; null: none.
TaskReductions* make_set(std::uintptr_t* head, TaskReductions* enclosing, std::uint32_t threads,
                         const TaskReductions* model = nullptr) {
  std::uint32_t blocks = 0;
  std::size_t variables = 0;
  for (Descriptor each{head}; each.words != nullptr; each = each.next()) {
    ++blocks;
    variables += each.variables();
  }
  const std::size_t bytes =
      sizeof(TaskReductions) + blocks * sizeof(ReductionBlock) + variables * sizeof(ReductionVariable);
  auto* const set = new (allocate_shared_zeroed(alignof(TaskReductions), bytes)) TaskReductions;
  auto* block = reinterpret_cast<ReductionBlock*>(set + 1);
  auto* variable = reinterpret_cast<ReductionVariable*>(block + blocks);
  *set = {enclosing, blocks, block};
  const ReductionBlock* parts = model != nullptr ? model->blocks : nullptr;
  for (Descriptor each{head}; each.words != nullptr; each = each.next(), ++block) {
    each.take_memory(parts, threads);
    if (parts != nullptr) ++parts;
    *block = {each.memory(), each.part_bytes(), threads, static_cast<std::uint32_t>(each.variables()),
              variable};
    for (std::size_t i = 0; i < each.variables(); ++i) *variable++ = {each.variable(i), each.offset(i)};
  }
  head[5] = reinterpret_cast<std::uintptr_t>(set);
  return set;
}

TaskReductions* reductions_around(const TaskGroup* group) {
  while (group != nullptr && group->reductions == nullptr) group = group->outer;
  return group != nullptr ? group->reductions : nullptr;
}

void free_memory(const TaskReductions& set) {
  for (std::uint32_t i = 0; i < set.count; ++i) free_shared(reinterpret_cast<void*>(set.blocks[i].memory));
}

}  // namespace

void group_reduction_begin(std::uintptr_t* descriptors) {
  TaskGroup* const group = current_task().group;
  group->reductions = make_set(descriptors, reductions_around(group), implicit_task().size);
}

void group_reduction_end(std::uintptr_t* descriptors) {
  auto* const set = reinterpret_cast<TaskReductions*>(descriptors[5]);
  free_memory(*set);
  free_shared(set);
}

TaskReductions* team_reduction_begin(void* data, std::uint32_t threads) {
  return make_set(*static_cast<std::uintptr_t**>(data), nullptr, threads);
}

void worksharing_reduction_begin(std::uintptr_t* descriptors) {
  ImplicitTask& task = implicit_task();
  group_begin(TaskGroup::Kind::worksharing);
  const bool first = single_begin(task);
  TaskReductions* const enclosing = reductions_around(task.group);
  TaskReductions* set = first ? make_set(descriptors, enclosing, task.size) : nullptr;
  const auto* const model = static_cast<const TaskReductions*>(broadcast(task, first, set));
  if (!first) set = make_set(descriptors, enclosing, task.size, model);
  task.group->reductions = set;
}

void worksharing_reduction_end() {
  ImplicitTask& task = implicit_task();
  TaskReductions* const set = reductions_around(task.group);
  group_end();
  if (task.number == 0) free_memory(*set);
  barrier();
  free_shared(set);
}

void remap_reductions(std::size_t count, std::size_t originals, void** addresses) {
  const TaskReductions* const reductions = reductions_around(current_task().group);
  const std::uint32_t thread = implicit_task().number;
  for (std::size_t i = 0; i < count; ++i) {
    const ReductionPlace place =
        find_reduction(reductions, reinterpret_cast<std::uintptr_t>(addresses[i]), thread);
    if (place.part == 0) {
      unsupported("a task that takes part in a reduction of no enclosing construct",
                  "enclose it in a taskgroup with task_reduction");
    }
    addresses[i] = reinterpret_cast<void*>(place.part);
    if (i < originals) addresses[count + i] = reinterpret_cast<void*>(place.original);
  }
}

}  // namespace musubi::omp::gomp
