// Which blocks ranks operate on at this moment, directly in the memory of their homes
// (docs/decisions/direct_operations.md). Each rank has places in registered memory, where its threads
// announce themselves. Whoever operates announces itself, and then looks at the words of the block. Whoever
// wants it to hold still changes these words first, and then waits for those that are announced.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids.h"
#include "base/task.h"
#include "coherence/core/visit_layout.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"

namespace musubi::coherence::migrating {

// One object per rank; any thread. All that wait here wait for the few instructions of an operation.
class Operators {
 public:
  Operators(fabric::Fabric& fabric, const VisitLayout& layout, Hooks hooks)
      : fabric_(fabric), layout_(layout.operators()), hooks_(hooks) {}

  // While it lives, this thread is announced at the block.
  class Announcement {
   public:
    Announcement(const Operators& operators, BlockId block) noexcept : place_(operators.announce(block)) {}
    ~Announcement() {
      if (place_ != nullptr) std::atomic_ref(*place_).store(0, std::memory_order_release);
    }
    Announcement(const Announcement&) = delete;
    // False: too many threads of this rank are.
    explicit operator bool() const noexcept { return place_ != nullptr; }

   private:
    std::uint64_t* const place_;
  };

  // Whether some thread is announced at the block, of any rank. REQUIRES: all ranks are near.
  bool some_at(BlockId block) const noexcept;
  // No thread is announced at the block any more, of any rank.
  Task<> end_at(BlockId block) const;
  // All that were announced when this began have ended. No requirement: where ranks are far, nobody is.
  Task<> end() const;

 private:
  std::uint64_t* announce(BlockId block) const noexcept;
  // Null: the rank is far, and never announces itself.
  std::uint64_t* word_of(Rank rank, std::uint64_t offset) const noexcept;
  bool is_announced(Rank rank, BlockId block) const noexcept;
  Task<> end_of(Rank rank) const;

  fabric::Fabric& fabric_;
  const OperatorLayout layout_;
  [[no_unique_address]] const Hooks hooks_;
};

}  // namespace musubi::coherence::migrating
