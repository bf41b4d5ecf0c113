// Walks over all code that a function can reach. An object of more than a megabyte that begins as zeros: most
// of it is never touched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "atomics/bound_memory.h"
#include "atomics/loaded_code.h"
#include "atomics/store_bounds.h"
#include "atomics/x86_64_branch_targets.h"
#include "atomics/x86_64_step.h"

namespace musubi::atomics {

class StoreBounds::Search {
 public:
  StoreBound bound_of(std::uintptr_t function) noexcept;

 private:
  using Summary = BoundMemory::Summary;
  static constexpr std::size_t instructions_max = 30'000, exceptions_max = 256;

  // A function while it is walked over.
  struct Walk {
    std::uint32_t depth;
    std::size_t first_target;
    Summary summary{8, false};
    std::uint32_t outer_depth = BoundMemory::no_depth;
  };

  // More of this cannot be known: the bound is one of bytes.
  Summary give_up() noexcept {
    given_up_ = true;
    return {1, true};
  }
  Summary look_at(std::uintptr_t function, bool with_argument, Walk* caller) noexcept;
  Summary walk_over(std::uintptr_t function, bool with_argument, BoundMemory::Entry& entry,
                    std::uint32_t depth, Walk* caller) noexcept;
  void walk_from(Walk& walk, std::uintptr_t address, x86_64::Frame frame) noexcept;
  bool decode(std::uintptr_t address) noexcept;
  // Result: whether the way goes on behind the step, or, by `at`, elsewhere.
  bool follow(Walk& walk, std::uintptr_t& at, x86_64::Frame& frame) noexcept;
  void branch(Walk& walk, std::uintptr_t target, const x86_64::Frame& frame) noexcept;
  Summary call(Walk& walk, std::uintptr_t function) noexcept;
  Summary call_slot(Walk& walk, std::uintptr_t slot) noexcept;
  bool is_looked_into(std::uintptr_t code) const noexcept;
  void note(Walk& walk, const x86_64::Step::Store& store) noexcept;
  bool except(NarrowPlace place) noexcept;
  static void narrow(Walk& walk, std::size_t bytes) noexcept;

  LoadedCode code_;
  BoundMemory memory_;
  x86_64::BranchTargets targets_;
  x86_64::Step step_;
  std::array<NarrowPlace, exceptions_max> exceptions_;
  std::size_t exception_count_;
  std::size_t instructions_;
  bool given_up_;
};

}  // namespace musubi::atomics
