#include "coherence/migrating/copies/twins.h"

#include <cstring>

#include "base/check.h"

namespace musubi::coherence::migrating {

// If the public copy has the same bytes already (this rank published them) there is nothing to copy.
void Twins::make(HeldBlock& b) {
  MUSUBI_CHECK(!b.entry.copy.bytes_lost && !b.entry.copy.held_back);
  note_copy(b);
  if (!b.entry.published.equals) {
    // A visitor of the home would change both sides during the copy.
    const remote_lock::OwnerWord word = ground_.own_word(b);
    MUSUBI_CHECK(word == remote_lock::OwnerWord::locked() || word.tag() == remote_lock::Ownership::link ||
                     !ground_.has_public_copy(b),
                 "block %lu: its public copy has other bytes", static_cast<unsigned long>(b.id.value));
    ground_.store.copy_to_public(b);
    ground_.shared(b.words.public_ts).store(b.entry.held.write_ts.value);
    b.entry.published.equals = true;
    ground_.count(Counter::twins);
  }
}

bool Twins::publish_changes(const HeldBlock& b, LineMask* lines) {
  MUSUBI_CHECK(!b.entry.copy.bytes_lost, "block %lu: its bytes are of no version",
               static_cast<unsigned long>(b.id.value));
  MUSUBI_CHECK(lines == nullptr || !b.entry.copy.held_back);
  const bool changed = b.entry.copy.held_back ? deferred_.publish_changes(b)
                       : lines != nullptr     ? ground_.store.copy_changes(b, *lines)
                                              : ground_.store.copy_changes(b);
  if (changed) note_copy(b);
  return changed;
}

bool Twins::differs(const HeldBlock& b) {
  MUSUBI_CHECK(!b.entry.copy.bytes_lost);
  return ground_.store.differs_from(b, b.entry.copy.held_back ? deferred_.base_of(b) : b.published);
}

void Twins::merge(const HeldBlock& b, const std::byte* remote, Rebase rebase, Rank giver) {
  MUSUBI_CHECK(remote != b.own && remote != b.published);
  note_copy(b);
  if (ground_.injected(InjectedBug::wrong_twin)) std::memcpy(b.published, remote, b.extent.bytes);
  ground_.store.merge(b, b.published, remote, rebase, sharing_of(b), giver);
}

Sharing Twins::sharing_of(const HeldBlock& b) const {
  const bool open = b.entry.copy.pinned || (b.entry.copy.state == State::writable && !ground_.is_quiescent());
  return open ? Sharing::open : Sharing::exclusive;
}

}  // namespace musubi::coherence::migrating
