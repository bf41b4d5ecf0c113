#include "omp/tasks.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "omp/cancellation.h"
#include "omp/iteration_space.h"
#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/team.h"
#include "omp/worksharing.h"
#include "runtime/waiting.h"

namespace musubi::omp {
namespace {

// What a task may change for itself only; put back when it is over.
class TaskScope {
 public:
  TaskScope(Function function, bool final)
      : task_(current_task()),
        icv_(task_.icv),
        mark_(task_.mark),
        final_(task_.final),
        group_(task_.group),
        noted_(runtime::note_task(reinterpret_cast<std::uintptr_t>(function))) {
    task_.final = final_ || final;
    task_.mark = 0;
  }
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  ~TaskScope() {
    runtime::note_task(noted_);
    while (task_.group != group_) group_end();  // of a cancelled task
    task_.icv = icv_;
    task_.mark = mark_;
    task_.final = final_;
  }

 private:
  ImplicitTask& task_;
  Icv icv_;
  std::uint64_t mark_;
  bool final_;
  TaskGroup* group_;
  std::uint64_t noted_;  // the task around it, for reports
};

void* aligned(void* memory, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return reinterpret_cast<void*>((address + alignment - 1) & ~(alignment - 1));
}

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

// Gives each descriptor of the chain memory, or, for a thread that came later, the memory of `model`; then
// hangs the chain of the enclosing groups behind it. The extent of the own chain is kept in word 5 of its
// head.
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

std::uintptr_t* enclosing_reductions(const ImplicitTask& task) {
  return task.group == nullptr ? nullptr : task.group->reductions;
}

// The descriptor that knows `address` as a variable, with its offset; or the one whose memory holds it.
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

void run_task(const TaskRequest& request) {
  if (drops_tasks(current_task())) return;
  const TaskScope scope(request.function, request.final);
  if (request.copy == nullptr) {
    request.function(request.data);
    return;
  }
  void* copy = aligned(alloca(request.bytes + request.alignment - 1), request.alignment);
  request.copy(copy, request.data);
  request.function(copy);
}

void run_task_loop(const TaskLoopRequest& request) {
  if (request.count == 0) return;
  std::uint64_t tasks = current_task().size;
  if (request.number != 0) tasks = request.sized_by_grain ? request.count / request.number : request.number;
  const bool exact = request.strict && request.sized_by_grain && request.number != 0;
  if (exact) tasks = (request.count - 1) / request.number + 1;
  tasks = std::clamp<std::uint64_t>(tasks, 1, request.count);
  const TaskRequest& task = request.task;
  void* data = aligned(alloca(task.bytes + task.alignment - 1), task.alignment);
  for (std::uint64_t i = 0; i < tasks && !drops_tasks(current_task()); ++i) {
    const Chunk share =
        exact ? Chunk{i * request.number, i + 1 == tasks ? request.count : (i + 1) * request.number}
              : static_share(request.count, tasks, i);
    if (task.copy != nullptr) {
      task.copy(data, task.data);
    } else {
      std::memcpy(data, task.data, task.bytes);
    }
    const std::uint64_t bounds[2] = {
        request.start + share.first * request.step,
        share.last == request.count ? request.end : request.start + share.last * request.step};
    std::memcpy(data, bounds, sizeof bounds);
    const TaskScope scope(task.function, task.final);
    task.function(data);
  }
}

void group_begin() {
  ImplicitTask& task = current_task();
  task.group = new TaskGroup{task.group, enclosing_reductions(task)};
}

void group_end() {
  ImplicitTask& task = current_task();
  TaskGroup* group = task.group;
  if (group == nullptr) return;
  task.group = group->outer;
  delete group;
}

void group_reduction_begin(std::uintptr_t* descriptors) {
  ImplicitTask& task = current_task();
  register_chain(descriptors, enclosing_reductions(task), nullptr, task.size);
  task.group->reductions = descriptors;
}

void group_reduction_end(std::uintptr_t* descriptors) {
  Descriptor descriptor{descriptors};
  for (std::uintptr_t i = 0; i < descriptors[5]; ++i, descriptor = descriptor.next()) {
    free_shared(reinterpret_cast<void*>(descriptor.memory()));
  }
}

void team_reduction_begin(std::uintptr_t* descriptors, std::uint32_t threads) {
  register_chain(descriptors, nullptr, nullptr, threads);
}

void worksharing_reduction_begin(std::uintptr_t* descriptors) {
  ImplicitTask& task = current_task();
  group_begin();
  std::uintptr_t* enclosing = enclosing_reductions(task);
  const bool first = single_begin(task);
  if (first) register_chain(descriptors, enclosing, nullptr, task.size);
  const auto* model = static_cast<const std::uintptr_t*>(broadcast(task, first, descriptors));
  if (!first) register_chain(descriptors, enclosing, model, task.size);
  task.group->reductions = descriptors;
  task.group->of_worksharing = true;
}

void worksharing_reduction_end() {
  ImplicitTask& task = current_task();
  std::uintptr_t* descriptors = task.group->reductions;
  group_end();
  if (task.number == 0) group_reduction_end(descriptors);
  barrier();
}

void remap_reductions(std::size_t count, std::size_t originals, void** addresses) {
  const ImplicitTask& task = current_task();
  const Descriptor chain{enclosing_reductions(task)};
  for (std::size_t i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(addresses[i]);
    Found found{};
    if (!find_variable(chain, address, found) && !find_part(chain, address, found)) {
      unsupported("a task that takes part in a reduction of no enclosing construct",
                  "enclose it in a taskgroup with task_reduction");
    }
    addresses[i] = reinterpret_cast<void*>(found.descriptor.memory() +
                                           task.number * found.descriptor.part_bytes() + found.offset);
    if (i < originals) addresses[count + i] = reinterpret_cast<void*>(found.original);
  }
}

}  // namespace musubi::omp
