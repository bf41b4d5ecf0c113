// Plans the changes of an object's code that lead its atomics to their stubs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "atomics/patch.h"
#include "atomics/site.h"
#include "atomics/x86_64_entry.h"
#include "atomics/x86_64_instruction.h"
#include "atomics/x86_64_overlapping_jumps.h"
#include "atomics/x86_64_trampolines.h"

namespace musubi::atomics::x86_64 {

// New bytes for the program's code.
struct Change {
  std::uintptr_t address;
  std::size_t bytes = 0;
  std::array<std::uint8_t, instruction_bytes_max> code{};
};

// Code to write at the target of a jump that cannot reach its stub directly.
struct TrampolineTarget {
  std::uintptr_t address;
  std::uintptr_t stub;
};

class Plan {
 public:
  Plan(const std::vector<CodeRange>& padding, OverlappingJumps overlapping_jumps)
      : trampolines_(padding), overlapping_jumps_(std::move(overlapping_jumps)) {}

  // By descending address: a jump may depend on bytes after its instruction, which then have their final
  // values.
  void add(const Site& site, std::uintptr_t stub);

  const std::vector<Change>& changes() const { return changes_; }
  const std::vector<TrapSite>& traps() const { return traps_; }
  const std::vector<TrampolineTarget>& targets() const { return targets_; }
  std::vector<std::uintptr_t> target_pages() const { return overlapping_jumps_.pages(); }

  PatchReport report;

 private:
  bool add_trampoline(const Site& site, std::uintptr_t stub, std::size_t own);
  bool add_overlapping_jump(const Site& site, std::uintptr_t stub, std::size_t own);
  void change(const Change& change);
  // Sets `byte`, the code's byte at `address`, to its planned value.
  void look_up(std::uintptr_t address, std::uint8_t& byte) const;

  Trampolines trampolines_;
  OverlappingJumps overlapping_jumps_;
  std::vector<Change> changes_;
  std::map<std::uintptr_t, std::size_t> changed_;  // from addresses to indices of changes_
  std::vector<TrapSite> traps_;
  std::vector<TrampolineTarget> targets_;
};

}  // namespace musubi::atomics::x86_64
