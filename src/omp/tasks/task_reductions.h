// Reductions over tasks, in a form that is the same for every compiler: where the parts of the threads lie.
// In shared memory, unless only one rank uses them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::omp {

struct ReductionVariable {
  std::uintptr_t original;  // the program's variable
  std::size_t offset;       // in a part
};

// A block with one part for each thread of the team, by thread number.
struct ReductionBlock {
  std::uintptr_t memory;
  std::size_t part_bytes;
  std::uint32_t parts;
  std::uint32_t count;
  const ReductionVariable* variables;
};

// The blocks of one construct.
struct TaskReductions {
  TaskReductions* outer;  // of the constructs around it
  std::uint32_t count;
  const ReductionBlock* blocks;
};

// Where a thread's part of a variable lies. `address`: the original, or an address in the part of any thread.
struct ReductionPlace {
  std::uintptr_t part = 0;      // 0: no such variable
  std::uintptr_t original = 0;  // 0: not the beginning of a variable
  const ReductionBlock* block = nullptr;
};
ReductionPlace find_reduction(const TaskReductions* innermost, std::uintptr_t address, std::uint32_t thread);

}  // namespace musubi::omp
