// Finds the bytes of machine code that are reachable instructions, where data is mixed with code: a walk
// along branches, from the known starts of functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

class Reach {
 public:
  explicit Reach(std::span<const std::uint8_t> code) : code_(code), seen_(code.size()) {}

  // Control may enter here by a branch or a call.
  void enter(std::size_t at);
  // All of [begin, end) is one function. If each of its bytes decodes, jump tables may lead to each of its
  // instructions; else only the targets of branches are reached.
  void enter_function(std::size_t begin, std::size_t end);
  // Calls `atomic` for the atomics reached since the last call, in no order.
  using Atomic = std::function<void(std::size_t, const Instruction&, const Recent& before)>;
  void walk(const Atomic& atomic);

 private:
  bool decodes(std::size_t begin, std::size_t end) const;
  void follow(std::size_t at, const Atomic& atomic);

  const std::span<const std::uint8_t> code_;
  std::vector<bool> seen_;  // an instruction begins there
  std::vector<std::size_t> entries_;
};

// Visits the direct branches and calls that a linear walk over the code finds, with their targets inside it.
void for_each_branch(std::span<const std::uint8_t> code,
                     const std::function<void(std::size_t at, std::size_t target)>& visit);

}  // namespace musubi::atomics::x86_64
