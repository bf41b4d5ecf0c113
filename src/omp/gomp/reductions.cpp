#include "omp/gomp/reductions.h"

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
  std::uintptr_t memory_end() const { return words[6]; }
  Descriptor next() const { return {reinterpret_cast<std::uintptr_t*>(words[4])}; }
  std::uintptr_t variable(std::size_t i) const { return words[7 + 3 * i]; }
  std::uintptr_t offset(std::size_t i) const { return words[8 + 3 * i]; }

  void allocate(std::uint32_t threads) {
    const std::size_t bytes = words[1] * threads;
    words[2] = reinterpret_cast<std::uintptr_t>(allocate_shared_zeroed(words[2], bytes));
    words[6] = words[2] + bytes;
  }
};

// Gives each descriptor of the chain memory or, for a thread that arrives later, the memory of `model`; then
// appends the chain of the enclosing groups. Word 5 of the head keeps the length of the own chain.
void register_chain(std::uintptr_t* head, std::uintptr_t* enclosing, const std::uintptr_t* model,
                    std::uint32_t threads) {
  Descriptor descriptor{head};
  std::uintptr_t length = 1;
  while (true) {
    if (model != nullptr) {
      descriptor.words[2] = model[2];
      descriptor.words[6] = model[6];
      model = reinterpret_cast<const std::uintptr_t*>(model[4]);
    } else {
      descriptor.allocate(threads);
    }
    if (descriptor.next().words == nullptr) break;
    descriptor = descriptor.next();
    ++length;
  }
  descriptor.words[4] = reinterpret_cast<std::uintptr_t>(enclosing);
  head[5] = length;
}

std::uintptr_t* chain_in(void* data) {
  return *static_cast<std::uintptr_t**>(data);
}

// The chain of the innermost group that has one, followed by those of the groups around it; or null.
std::uintptr_t* reductions_around(const TaskGroup* group) {
  while (group != nullptr && group->reductions == nullptr) group = group->outer;
  if (group == nullptr) return nullptr;
  return group->kind == TaskGroup::Kind::region ? chain_in(group->reductions)
                                                : static_cast<std::uintptr_t*>(group->reductions);
}

// The descriptor that lists `address` as a variable, with its offset; or the one whose memory contains it.
struct Found {
  Descriptor descriptor;
  std::uintptr_t offset;
  std::uintptr_t original;
};

bool find_variable(Descriptor chain, std::uintptr_t address, Found& found) {
  for (; chain.words != nullptr; chain = chain.next()) {
    for (std::size_t i = 0; i < chain.variables(); ++i) {
      if (chain.variable(i) != address) continue;
      found = {chain, chain.offset(i), address};
      return true;
    }
  }
  return false;
}

bool find_part(Descriptor chain, std::uintptr_t address, Found& found) {
  for (; chain.words != nullptr; chain = chain.next()) {
    if (address < chain.memory() || address >= chain.memory_end()) continue;
    found = {chain, (address - chain.memory()) % chain.part_bytes(), 0};
    for (std::size_t i = 0; i < chain.variables(); ++i) {
      if (chain.offset(i) == found.offset) found.original = chain.variable(i);
    }
    return true;
  }
  return false;
}

}  // namespace

void group_reduction_begin(std::uintptr_t* descriptors) {
  Task& task = current_task();
  register_chain(descriptors, reductions_around(task.group), nullptr, implicit_task().size);
  task.group->reductions = descriptors;
}

void group_reduction_end(std::uintptr_t* descriptors) {
  Descriptor descriptor{descriptors};
  for (std::uintptr_t i = 0; i < descriptors[5]; ++i, descriptor = descriptor.next()) {
    free_shared(reinterpret_cast<void*>(descriptor.memory()));
  }
}

void team_reduction_begin(void* data, std::uint32_t threads) {
  register_chain(chain_in(data), nullptr, nullptr, threads);
}

void worksharing_reduction_begin(std::uintptr_t* descriptors) {
  ImplicitTask& task = implicit_task();
  group_begin(TaskGroup::Kind::worksharing);
  std::uintptr_t* enclosing = reductions_around(task.group);
  const bool first = single_begin(task);
  if (first) register_chain(descriptors, enclosing, nullptr, task.size);
  const auto* model = static_cast<const std::uintptr_t*>(broadcast(task, first, descriptors));
  if (!first) register_chain(descriptors, enclosing, model, task.size);
  task.group->reductions = descriptors;
}

void worksharing_reduction_end() {
  ImplicitTask& task = implicit_task();
  std::uintptr_t* descriptors = reductions_around(task.group);
  group_end();
  if (task.number == 0) group_reduction_end(descriptors);
  barrier();
}

void remap_reductions(std::size_t count, std::size_t originals, void** addresses) {
  const Descriptor chain{reductions_around(current_task().group)};
  const std::uint32_t part = implicit_task().number;
  for (std::size_t i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(addresses[i]);
    Found found{};
    if (!find_variable(chain, address, found) && !find_part(chain, address, found)) {
      unsupported("a task that takes part in a reduction of no enclosing construct",
                  "enclose it in a taskgroup with task_reduction");
    }
    addresses[i] = reinterpret_cast<void*>(found.descriptor.memory() + part * found.descriptor.part_bytes() +
                                           found.offset);
    if (i < originals) addresses[count + i] = reinterpret_cast<void*>(found.original);
  }
}

}  // namespace musubi::omp::gomp
