// Atomic operations on unaligned memory that spans two blocks. They run one at a time in the whole job,
// slowly, as split locks of processors are.
#pragma once

#include <cstdint>
#include <functional>

#include "base/atomic_operation.h"
#include "runtime/api/words.h"

namespace musubi::runtime {

class SplitAtomics {
 public:
  // Word `lock` of rank 0 serialises these operations; `words` outlives this object.
  SplitAtomics(Words& words, std::size_t lock) : words_(words), lock_(lock) {}

  // An operation on memory of one block. Result: the old value.
  using Step = std::function<AtomicValue(std::uintptr_t, const AtomicOperation&)>;
  // `border`: the beginning of the second block. `step` reads and writes the parts, so concurrent operations
  // within one of the blocks, on bytes that this one does not change, lose nothing. Result: the old value.
  // Blocks politely. Any thread of the program, not inside a fault.
  AtomicValue carry_out(std::uintptr_t address, std::uintptr_t border, const AtomicOperation& operation,
                        const Step& step);

 private:
  Words& words_;
  const std::size_t lock_;
};

}  // namespace musubi::runtime
