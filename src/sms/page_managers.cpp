#include "sms/page_managers.h"

#include "base/atomic_operation.h"
#include "base/check.h"
#include "coherence/policy.h"
#include "sms/shared_memory.h"

namespace musubi::sms {

// Entry consistency changes page managers itself. Fixed homes do not move. A single process has no other
// manager.
void PageManagers::change(std::uintptr_t begin, std::size_t bytes, Rank page_manager) {
  if (policy_of(runtime_.settings()) == coherence::Policy::entry) {
    const auto changed =
        runtime_.segments().change_page_manager(reinterpret_cast<const void*>(begin), bytes, page_manager);
    MUSUBI_CHECK(changed);  // both were checked before
    return;
  }
  const bool moves = policy_of(runtime_.settings()) == coherence::Policy::migrating && runtime_.ranks() > 1;
  if (moves && page_manager == runtime_.self()) to_here_.push_back({begin, bytes});
}

// An atomic operation makes its rank the home of the block. An operation that changes nothing makes no new
// version, so copies of other ranks stay valid.
void PageManagers::carry_out() {
  if (to_here_.empty()) [[likely]]
    return;
  const AtomicOperation nothing{AtomicOperation::Kind::load, sizeof(std::uint64_t)};
  const std::uintptr_t block = runtime_.settings().heap_block_bytes;
  for (const Change& change : to_here_) {
    const std::uintptr_t first = change.begin / block * block;
    for (std::uintptr_t at = first; at < change.begin + change.bytes; at += block)
      (void)runtime_.synchronization().atomic(at, nothing);
  }
  to_here_.clear();
}

}  // namespace musubi::sms
