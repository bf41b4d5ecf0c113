// Which bytes of machine code are instructions that may be executed, where data lie between them: a walk
// along branches, from where functions are known to begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "atomics/x86_64_sweep.h"

namespace musubi::atomics::x86_64 {

class Reach {
 public:
  explicit Reach(std::span<const std::uint8_t> code) : code_(code), seen_(code.size()) {}

  // Control may come here, as a branch or a call does.
  void enter(std::size_t at);
  // All of [begin, end) is one function. Where each of its bytes decodes, jumps by tables may lead to each of
  // its instructions; else only what branches lead to is reached.
  void enter_function(std::size_t begin, std::size_t end);
  // Calls `atomic` for what has been reached since the last call, in no order.
  using Atomic = std::function<void(std::size_t, const Instruction&, const Recent& before)>;
  void walk(const Atomic& atomic);

 private:
  bool decodes(std::size_t begin, std::size_t end) const;
  void follow(std::size_t at, const Atomic& atomic);

  const std::span<const std::uint8_t> code_;
  std::vector<bool> seen_;  // that an instruction begins there
  std::vector<std::size_t> entries_;
};

// Visits the direct branches and calls inside the code that a linear walk over it meets, and where they lead.
void for_each_branch(std::span<const std::uint8_t> code,
                     const std::function<void(std::size_t at, std::size_t target)>& visit);

}  // namespace musubi::atomics::x86_64
