#include "omp/tasks/task_reductions.h"

#include <initializer_list>

namespace musubi::omp {
namespace {

std::uintptr_t part_of(const ReductionBlock& block, std::uint32_t thread) {
  return block.memory + block.part_bytes * thread;
}

bool find_original(const ReductionBlock& block, std::uintptr_t address, std::uint32_t thread,
                   ReductionPlace& place) {
  for (std::uint32_t i = 0; i < block.count; ++i) {
    if (block.variables[i].original != address) continue;
    place = {part_of(block, thread) + block.variables[i].offset, address, &block};
    return true;
  }
  return false;
}

bool find_part(const ReductionBlock& block, std::uintptr_t address, std::uint32_t thread,
               ReductionPlace& place) {
  if (address < block.memory || address >= part_of(block, block.parts)) return false;
  const std::size_t offset = (address - block.memory) % block.part_bytes;
  place = {part_of(block, thread) + offset, 0, &block};
  for (std::uint32_t i = 0; i < block.count; ++i) {
    if (block.variables[i].offset == offset) place.original = block.variables[i].original;
  }
  return true;
}

}  // namespace

ReductionPlace find_reduction(const TaskReductions* innermost, std::uintptr_t address, std::uint32_t thread) {
  ReductionPlace place;
  for (const auto find : {&find_original, &find_part}) {
    for (const TaskReductions* set = innermost; set != nullptr; set = set->outer) {
      for (std::uint32_t i = 0; i < set->count; ++i) {
        if (find(set->blocks[i], address, thread, place)) return place;
      }
    }
  }
  return place;
}

}  // namespace musubi::omp
