// The stacks of this rank's threads in the shared range: the slots in use, and the used depth of each.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "base/spin_lock.h"
#include "coherence/protocol.h"
#include "runtime/api/memory.h"
#include "runtime/api/threads.h"
#include "vm/space.h"

namespace musubi::runtime {

class StackSlots {
 public:
  StackSlots(const vm::Space& space, const Layout& layout, Rank self, coherence::Protocol& protocol)
      : space_(space),
        layout_(layout),
        protocol_(protocol),
        base_(layout.stacks_base + self.value * layout.stack_slot_bytes * layout.stack_slots_per_rank),
        used_(layout.stack_slots_per_rank, Use::never) {}

  // Result: false if all slots are in use.
  bool take(ThreadStack* stack) {
    lock_.lock();
    std::size_t slot = 0;
    while (slot < used_.size() && used_[slot] == Use::now) ++slot;
    const bool found = slot < used_.size();
    const bool fresh = found && used_[slot] == Use::never;
    if (found) {
      used_[slot] = Use::now;
      in_use_.fetch_add(1);
    }
    lock_.unlock();
    if (!found) return false;
    const std::uintptr_t low = base_ + slot * layout_.stack_slot_bytes + layout_.stack_guard_bytes;
    const std::uintptr_t high = base_ + (slot + 1) * layout_.stack_slot_bytes;
    if (fresh) {  // pinned permanently
      const std::uint64_t first = space_.block_at(low)->value;
      protocol_.pin(BlockId{first}, space_.block_at(high - 1)->value - first + 1);
    }
    *stack = ThreadStack{reinterpret_cast<std::byte*>(low), reinterpret_cast<std::byte*>(high), slot};
    return true;
  }
  void give_back(const ThreadStack& stack) {
    protocol_.note_stack(stack.slot, 0, 0);
    lock_.lock();
    used_[stack.slot] = Use::before;
    in_use_.fetch_sub(1);
    lock_.unlock();
  }
  std::size_t in_use() const { return in_use_.load(); }
  void note(std::size_t slot, const void* low, const void* high) {
    protocol_.note_stack(slot, reinterpret_cast<std::uintptr_t>(low), reinterpret_cast<std::uintptr_t>(high));
  }

 private:
  enum class Use : unsigned char { never, before, now };

  const vm::Space& space_;
  const Layout& layout_;
  coherence::Protocol& protocol_;
  std::uintptr_t base_;
  SpinLock lock_;
  std::vector<Use> used_;
  std::atomic<std::size_t> in_use_{0};
};

}  // namespace musubi::runtime
