#include "omp/kmp/task_reductions.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include "omp/entry.h"
#include "omp/job.h"
#include "omp/kmp/abi.h"
#include "omp/shared_memory.h"
#include "omp/tasks.h"
#include "omp/team.h"
#include "omp/worksharing.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

namespace {

using Combine = void (*)(void* into, void* from);
using Destroy = void (*)(void* copy);

// As compiled code passes them (kmp_taskred_input_t); `initialise` may be null: zeros.
struct Variable {
  void* shared;
  void* original;  // for `initialise`
  std::size_t bytes;
  void (*initialise)(void* copy, void* original);
  Destroy destroy;
  Combine combine;
  std::uint32_t flags;
};
// The same of compilers before version 9 (kmp_task_red_input_t).
struct OldVariable {
  void* shared;
  std::size_t bytes;
  void (*initialise)(void* copy, void*);  // takes only the copy, and ignores the rest
  Destroy destroy;
  Combine combine;
  std::uint32_t flags;
};

constexpr std::size_t line_bytes = 64;

// The copies of one construct: a part for each thread of the team, in shared memory. A part begins with a
// word that says whether its thread has used it.
struct Parts {
  std::byte* memory;
  std::size_t part_bytes;
  std::uint32_t threads;

  std::byte* part(std::uint32_t thread) const { return memory + thread * part_bytes; }
  std::uint64_t& is_used(std::uint32_t thread) const {
    return *reinterpret_cast<std::uint64_t*>(part(thread));
  }
};

struct Item {
  Variable variable;
  std::size_t offset;  // in a part
};

// What a group points to, in shared memory, and what the program passes to its tasks, also on other ranks.
// The threads of a construct of the whole team have one each, with variables of their own, and share the
// parts.
struct Reductions {
  Reductions* outer;  // of the constructs around it
  Parts* parts;
  std::uint32_t count;

  Item* items() { return reinterpret_cast<Item*>(this + 1); }
  std::span<Item> all() { return {items(), count}; }
};

template <class T>
T* shared(std::size_t more_bytes = 0) {
  return new (allocate_shared_zeroed(alignof(T), sizeof(T) + more_bytes)) T{};
}

Item item_of(const Variable& variable) {
  return {variable, 0};
}
Item item_of(const OldVariable& old) {
  return {{old.shared, nullptr, old.bytes, old.initialise, old.destroy, old.combine, old.flags}, 0};
}

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

// Of the innermost group that has some.
Reductions* reductions_around(const TaskGroup* group) {
  while (group != nullptr && group->kmp_reductions == nullptr) group = group->outer;
  return group == nullptr ? nullptr : static_cast<Reductions*>(group->kmp_reductions);
}

template <class AnyVariable>
Reductions* reductions_of(std::int32_t count, const AnyVariable* variables) {
  auto* reductions = shared<Reductions>(static_cast<std::size_t>(count) * sizeof(Item));
  reductions->outer = reductions_around(current_task().group);
  reductions->count = static_cast<std::uint32_t>(count);
  std::size_t offset = line_bytes;
  for (std::int32_t i = 0; i < count; ++i) {
    Item& item = reductions->items()[i] = item_of(variables[i]);
    item.offset = offset;
    offset += whole_lines(item.variable.bytes);
  }
  return reductions;
}

Parts* parts_for(Reductions& reductions) {
  auto* parts = shared<Parts>();
  const Item& last = reductions.items()[reductions.count - 1];
  parts->threads = implicit_task().size;
  parts->part_bytes = last.offset + whole_lines(last.variable.bytes);
  parts->memory =
      static_cast<std::byte*>(allocate_shared_zeroed(line_bytes, parts->part_bytes * parts->threads));
  return parts;
}

void prepare(Reductions& reductions, std::uint32_t thread) {
  std::byte* const part = reductions.parts->part(thread);
  for (Item& item : reductions.all()) {
    const Variable& variable = item.variable;
    if (variable.initialise != nullptr) variable.initialise(part + item.offset, variable.original);
  }
  reductions.parts->is_used(thread) = 1;
}

// Once all tasks of the construct have ended.
void combine_all(Reductions& reductions) {
  const Parts& parts = *reductions.parts;
  for (std::uint32_t thread = 0; thread < parts.threads; ++thread) {
    if (parts.is_used(thread) == 0) continue;
    for (Item& item : reductions.all()) {
      std::byte* const copy = parts.part(thread) + item.offset;
      item.variable.combine(item.variable.shared, copy);
      if (item.variable.destroy != nullptr) item.variable.destroy(copy);
    }
  }
}

void free_parts(Reductions& reductions) {
  free_shared(reductions.parts->memory);
  free_shared(reductions.parts);
}

// The item that `address` means: the variable, or a copy of it in any part.
Item* find(Reductions& reductions, const void* address) {
  const auto* const byte = static_cast<const std::byte*>(address);
  const Parts& parts = *reductions.parts;
  const bool in_parts = byte >= parts.memory && byte < parts.memory + parts.part_bytes * parts.threads;
  const std::size_t offset = in_parts ? static_cast<std::size_t>(byte - parts.memory) % parts.part_bytes : 0;
  for (Item& item : reductions.all()) {
    const bool is_copy = in_parts && offset >= item.offset && offset < item.offset + item.variable.bytes;
    if (is_copy || item.variable.shared == address) return &item;
  }
  return nullptr;
}

template <class AnyVariable>
void* begin(std::int32_t count, const AnyVariable* variables) {
  TaskGroup* const group = current_task().group;
  if (count <= 0 || group == nullptr) return reductions_around(group);
  Reductions* const reductions = reductions_of(count, variables);
  reductions->parts = parts_for(*reductions);
  group->kmp_reductions = reductions;
  return reductions;
}

// The first thread makes the parts for all.
template <class AnyVariable>
void* begin_for_team(std::int32_t is_loop, std::int32_t count, const AnyVariable* variables) {
  ImplicitTask& task = implicit_task();
  group_begin(is_loop != 0 ? TaskGroup::Kind::worksharing : TaskGroup::Kind::region);
  Reductions* const reductions = reductions_of(count, variables);
  const bool makes_parts = single_begin(task);
  if (makes_parts) reductions->parts = parts_for(*reductions);
  reductions->parts = static_cast<Parts*>(broadcast_or_end(task, makes_parts, reductions->parts));
  current_task().group->kmp_reductions = reductions;
  return reductions;
}

}  // namespace

namespace musubi::omp::kmp {

void end_group_with_reductions() {
  const TaskGroup* const group = current_task().group;
  auto* const reductions = group == nullptr ? nullptr : static_cast<Reductions*>(group->kmp_reductions);
  group_end();
  if (reductions == nullptr) return;
  combine_all(*reductions);
  free_parts(*reductions);
  free_shared(reductions);
}

}  // namespace musubi::omp::kmp

extern "C" {

MUSUBI_EXPORT void* __kmpc_taskred_init(GlobalThread, std::int32_t count, Variable* variables) {
  return begin(count, variables);
}
MUSUBI_EXPORT void* __kmpc_task_reduction_init(GlobalThread, std::int32_t count, OldVariable* variables) {
  return begin(count, variables);
}
MUSUBI_EXPORT void* __kmpc_taskred_modifier_init(Place*, GlobalThread, std::int32_t is_loop,
                                                 std::int32_t count, Variable* variables) {
  MUSUBI_OMP_ENTRY();
  return begin_for_team(is_loop, count, variables);
}
MUSUBI_EXPORT void* __kmpc_task_reduction_modifier_init(Place*, GlobalThread, std::int32_t is_loop,
                                                        std::int32_t count, OldVariable* variables) {
  MUSUBI_OMP_ENTRY();
  return begin_for_team(is_loop, count, variables);
}
// The program then reduces the threads' variables: one of them gets the sum of all copies.
MUSUBI_EXPORT void __kmpc_task_reduction_modifier_fini(Place*, GlobalThread, std::int32_t /*is_loop*/) {
  MUSUBI_OMP_ENTRY();
  ImplicitTask& task = implicit_task();
  auto* const reductions = static_cast<Reductions*>(current_task().group->kmp_reductions);
  group_end();
  barrier();
  if (task.number == 0) {
    combine_all(*reductions);
    free_parts(*reductions);
  }
  free_shared(reductions);
}

// The calling thread's copy of the variable. `construct`: the result of its beginning; null: any around the
// task.
MUSUBI_EXPORT void* __kmpc_task_reduction_get_th_data(GlobalThread, void* construct, void* variable) {
  MUSUBI_OMP_ENTRY();
  auto* reductions =
      construct != nullptr ? static_cast<Reductions*>(construct) : reductions_around(current_task().group);
  const std::uint32_t thread = implicit_task().number;
  for (; reductions != nullptr; reductions = reductions->outer) {
    const Item* const item = find(*reductions, variable);
    if (item == nullptr) continue;
    if (reductions->parts->is_used(thread) == 0) prepare(*reductions, thread);
    return reductions->parts->part(thread) + item->offset;
  }
  unsupported("a task that takes part in a reduction of no enclosing construct",
              "enclose it in a taskgroup with task_reduction");
}

}  // extern "C"
