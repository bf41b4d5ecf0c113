// An atomic operation of the program as the protocol applies it: a change of one block's current bytes.
#pragma once

#include "base/atomic_operation.h"
#include "coherence/protocol.h"

namespace musubi::runtime {

class AtomicModification final : public coherence::Modification {
 public:
  // The operand is `first` bytes into the block. `operation` outlives this object.
  AtomicModification(const AtomicOperation& its_operation, std::size_t first) {
    operation = &its_operation;
    offset = first;
    bytes = its_operation.bytes;
  }
  void apply(std::byte* block) noexcept override { old_ = modify_in_place(block + offset, *operation); }
  void found(AtomicValue old) noexcept override { old_ = old; }
  AtomicValue old() const { return old_; }

 private:
  AtomicValue old_ = 0;
};

}  // namespace musubi::runtime
