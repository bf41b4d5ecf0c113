// Releases and acquires at which nothing happens: most barriers of programs that share little. They need no
// task, and hold no lock: in a quiescent release nobody else of this rank is at work.
#include <algorithm>
#include <cstdint>

#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

bool Engine::release_at_once(bool quiescent) {
  if (!quiescent) return false;
  if (!stacks_are_unchanged()) return false;
  if (is_look_at_copies_due()) return false;
  // A block that is writable is listed; pinned ones are not.
  if (!dirty_.empty() && !all_pass_unread()) return false;
  quiescence_.begin_barrier();
  return true;
}

// Where one does not, the release that follows passes them again. Little is done twice: blocks that have
// readers are listed anew before those that passed, so they stand in front.
bool Engine::all_pass_unread() {
  const std::span<const BlockId> listed = dirty_.take();
  std::size_t passed = 0;
  while (passed < listed.size() && passes_unread(listed, passed)) ++passed;
  dirty_.add_again(listed);
  return passed == listed.size();
}

// Whether the bytes in use between `begin` and `end` are those of the public copy. What lies below them in
// the lowest block is left of calls that have returned, the runtime's own among them.
bool Engine::stack_is_unchanged(std::size_t range, std::uintptr_t begin, std::uintptr_t end) const {
  const auto [low, high] = stacks_.within(range, begin, end);
  if (low >= high) return true;
  if (!held_back_.empty()) return false;
  const vm::Segment& segment = *space_.segment_at(low);
  const std::size_t offset = segment.offset + (low - segment.base);
  return !store_.differ(store_.memory().private_view + offset, store_.memory().published + offset,
                        high - low);
}

bool Engine::stacks_are_unchanged() const {
  const std::size_t end = stacks_.end();
  for (std::size_t i = 0; i < end; ++i) {
    if (!stack_is_unchanged(i, 0, UINTPTR_MAX)) return false;
  }
  return true;
}

bool Engine::acquire_at_once(SignatureView signature, Audience audience) {
  const bool is_kept = audience != Audience::everyone && !signature.empty();
  if (audience <= Audience::unknown_in_order || is_kept || !to_close_.empty() || !held_back_.empty() ||
      expired_.load() < signature.minimum.value)
    return false;
  LogicalTime newest = signature.minimum;
  for (const Notice& notice : signature.notices) {
    if (notice.writer != fabric_.self()) return false;
    newest = later(newest, notice.write_ts);
  }
  if (!signature.notices.empty()) count(Counter::notices_received, signature.notices.size());
  raise(clock_, newest);
  quiescence_.end_barrier();
  return true;
}

}  // namespace musubi::coherence::migrating
