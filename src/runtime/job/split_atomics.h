// Atomic operations on unaligned memory that lies in two blocks. One at a time in the whole job, slowly, as
// for processors.
#pragma once

#include <cstdint>
#include <functional>

#include "base/atomic_operation.h"
#include "runtime/api/words.h"

namespace musubi::runtime {

class SplitAtomics {
 public:
  // Word `lock` of rank 0 excludes all others of these; `words` outlives this.
  SplitAtomics(Words& words, std::size_t lock) : words_(words), lock_(lock) {}

  // An operation on memory of one block. Result: what was there.
  using Step = std::function<AtomicValue(std::uintptr_t, const AtomicOperation&)>;
  // `border`: where the second block begins. The parts are read and written by `step`, so operations within
  // one of the blocks, on bytes that this one does not change, lose nothing. Result: what was there. Blocks
  // politely. Any thread of the program, not inside a fault.
  AtomicValue carry_out(std::uintptr_t address, std::uintptr_t border, const AtomicOperation& operation,
                        const Step& step);

 private:
  Words& words_;
  const std::size_t lock_;
};

}  // namespace musubi::runtime
