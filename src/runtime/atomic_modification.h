// An atomic operation of the program as the protocol carries it out: a change of one block's live bytes.
#pragma once

#include "base/atomic_operation.h"
#include "coherence/protocol.h"

namespace musubi::runtime {

class AtomicModification final : public coherence::Modification {
 public:
  // The operand begins `first` bytes into the block. `operation` outlives this.
  AtomicModification(const AtomicOperation& operation, std::size_t first) : operation_(operation) {
    offset = first;
    bytes = operation.bytes;
  }
  void apply(std::byte* block) noexcept override;
  AtomicValue old() const { return old_; }

 private:
  const AtomicOperation& operation_;
  AtomicValue old_ = 0;
};

}  // namespace musubi::runtime
