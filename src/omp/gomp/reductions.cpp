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

  void allocate(std::uint32_t threads) {
    const std::size_t bytes = words[1] * threads;
    words[2] = reinterpret_cast<std::uintptr_t>(allocate_shared_zeroed(words[2], bytes));
    words[6] = words[2] + bytes;
  }
};

// What the runtime makes of a chain: the set, and where the program finds it again.
struct Chain : TaskReductions {
  std::uintptr_t* head;
};

// In one piece of shared memory, with its blocks and variables.
Chain* make_chain(std::uintptr_t* head, TaskReductions* enclosing, std::uint32_t threads) {
  std::uint32_t blocks = 0;
  std::size_t variables = 0;
  for (Descriptor each{head}; each.words != nullptr; each = each.next()) {
    ++blocks;
    variables += each.variables();
  }
  const std::size_t bytes =
      sizeof(Chain) + blocks * sizeof(ReductionBlock) + variables * sizeof(ReductionVariable);
  auto* const chain = new (allocate_shared_zeroed(alignof(Chain), bytes)) Chain;
  auto* block = reinterpret_cast<ReductionBlock*>(chain + 1);
  auto* variable = reinterpret_cast<ReductionVariable*>(block + blocks);
  *chain = {{enclosing, blocks, block}, head};
  for (Descriptor each{head}; each.words != nullptr; each = each.next(), ++block) {
    each.allocate(threads);
    *block = {each.memory(), each.part_bytes(), threads, static_cast<std::uint32_t>(each.variables()),
              variable};
    for (std::size_t i = 0; i < each.variables(); ++i) *variable++ = {each.variable(i), each.offset(i)};
  }
  head[5] = reinterpret_cast<std::uintptr_t>(static_cast<TaskReductions*>(chain));
  return chain;
}

// The descriptors of a thread that shares the memory of another thread's.
void share_memory(std::uintptr_t* head, const Chain& chain) {
  const ReductionBlock* block = chain.blocks;
  for (Descriptor each{head}; each.words != nullptr; each = each.next(), ++block) {
    each.words[2] = block->memory;
    each.words[6] = block->memory + block->part_bytes * block->parts;
  }
  head[5] = reinterpret_cast<std::uintptr_t>(static_cast<const TaskReductions*>(&chain));
}

TaskReductions* reductions_around(const TaskGroup* group) {
  while (group != nullptr && group->reductions == nullptr) group = group->outer;
  return group != nullptr ? group->reductions : nullptr;
}

void free_chain(TaskReductions* chain) {
  for (std::uint32_t i = 0; i < chain->count; ++i)
    free_shared(reinterpret_cast<void*>(chain->blocks[i].memory));
  free_shared(chain);
}

}  // namespace

void group_reduction_begin(std::uintptr_t* descriptors) {
  TaskGroup* const group = current_task().group;
  group->reductions = make_chain(descriptors, reductions_around(group), implicit_task().size);
}

void group_reduction_end(std::uintptr_t* descriptors) {
  free_chain(reinterpret_cast<TaskReductions*>(descriptors[5]));
}

TaskReductions* team_reduction_begin(void* data, std::uint32_t threads) {
  return make_chain(*static_cast<std::uintptr_t**>(data), nullptr, threads);
}

void worksharing_reduction_begin(std::uintptr_t* descriptors) {
  ImplicitTask& task = implicit_task();
  group_begin(TaskGroup::Kind::worksharing);
  const bool first = single_begin(task);
  TaskReductions* const enclosing = reductions_around(task.group);
  TaskReductions* made = first ? make_chain(descriptors, enclosing, task.size) : nullptr;
  made = static_cast<TaskReductions*>(broadcast(task, first, made));
  if (!first) share_memory(descriptors, *static_cast<const Chain*>(made));
  task.group->reductions = made;
}

void worksharing_reduction_end() {
  ImplicitTask& task = implicit_task();
  TaskReductions* const reductions = reductions_around(task.group);
  group_end();
  if (task.number == 0) free_chain(reductions);
  barrier();
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
