// The access that the program has to each block at the moment, for code that asks before it makes an access.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/sparse_array.h"
#include "vm/vm.h"

namespace musubi::vm {

// One byte for each block; zero, at the start, is Access::none. Any thread, also inside a handler. The answer
// may be out of date when it comes: it is right where a fault corrects it.
class BlockStates {
 public:
  explicit BlockStates(std::uint64_t blocks) : bytes_(blocks) {}

  bool allows(BlockId block, Access wanted) const noexcept {
    return byte(block.value).load(std::memory_order_relaxed) >= static_cast<std::uint8_t>(wanted);
  }
  void set(BlockRun run, Access access) noexcept {
    for (std::uint64_t i = 0; i < run.count; ++i)
      byte(run.first.value + i).store(static_cast<std::uint8_t>(access), std::memory_order_relaxed);
  }

 private:
  std::atomic_ref<std::uint8_t> byte(std::uint64_t block) const noexcept {
    return std::atomic_ref(const_cast<std::uint8_t&>(bytes_[block]));
  }

  SparseArray<std::uint8_t> bytes_;
};

}  // namespace musubi::vm
