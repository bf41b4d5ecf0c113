// The lock of the block keeps all others away for the few steps that an operation takes. The word changes in
// four places at once: where the home's program sees it, in the home's public copy, and in the private bytes
// and the twin of the rank that operates. So neither side takes it for a change of its own later.
//
// Who must be told? While nobody holds a copy of the version, and this rank has told of that version before,
// nobody: all copies are older, and end when what it told is acquired. Otherwise the version gets a new time,
// or, if nobody holds it, this rank tells of it too.
#include "coherence/migrating/home_atomics.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/rules/atomics.h"
#include "coherence/rules/states.h"
#include "coherence/rules/writers.h"

namespace musubi::coherence::migrating {

using remote_lock::Ownership;
using remote_lock::OwnerWord;

namespace {

constexpr std::size_t bytes_max = 16;

}  // namespace

Task<bool> HomeAtomics::modify(Block& b, Modification& modification) {
  if (!may_be_modified(b, modification)) co_return false;
  Place place{};
  place.home = ground_.is_home(b) ? ground_.self() : ground_.own_word(b).target();
  unsigned links = 0;
  for (unsigned look = 0; look < rules::visit_looks_max && links <= rules::visit_links_max; ++look) {
    if (!find(b, place)) co_return false;
    const Lock result = lock(b, place);
    if (result == Lock::taken) {
      const bool done = may_modify(b, place, modification);
      if (done) modify_at(b, place, modification);
      if (done) ground_.count(Counter::home_atomics);
      ground_.others_may_act();
      if (place.home != ground_.self()) {
        ground_.shared(place.words->owner).store(OwnerWord::unlocked().raw);
        ground_.others_may_act();
      } else if (!ground_.locks.unlock_unwatched(b.id.value)) {
        co_await ground_.locks.unlock(b.id.value);
      }
      co_return done;
    }
    if (result == Lock::elsewhere) ++links;
    if (result == Lock::busy) co_await pause(look);
  }
  co_return false;
}

bool HomeAtomics::may_be_modified(const Block& b, const Modification& modification) const {
  const Entry& e = b.entry;
  return modification.bytes <= bytes_max && !ground_.keeps_order() && !e.held_back && !e.bytes_lost &&
         !ground_.store.has_private_parts(b);
}

bool HomeAtomics::find(const Block& b, Place& place) const {
  const auto at = [&](fabric::RegionId region) { return ground_.fabric.direct(place.home, region); };
  if (place.home == ground_.self()) {
    place.words = &b.words;
    place.order = nullptr;
    place.bytes = {b.own, b.published};
    return true;
  }
  if (!ground_.fabric.capabilities(place.home).local_pointer) return false;
  std::byte* const words = at(words_region);
  place.words = reinterpret_cast<BlockWords*>(words + word_offset(b.id, 0));
  place.order = reinterpret_cast<std::uint64_t*>(words + ground_.visits.layout().order());
  place.bytes = {at(private_region) + b.extent.offset, at(published_region) + b.extent.offset};
  return true;
}

// Result `elsewhere`: `place` names another rank now.
HomeAtomics::Lock HomeAtomics::lock(const Block& b, Place& place) const {
  const auto word = ground_.shared(place.words->owner);
  std::uint64_t seen = word.load();
  const OwnerWord found = OwnerWord{seen}.resolved(place.home, b.initial_home);
  if (found.tag() == Ownership::link) {
    place.home = found.target();
    return Lock::elsewhere;
  }
  const OwnerWord mine =
      place.home == ground_.self() ? OwnerWord::locked() : OwnerWord::tried_by(ground_.self());
  const bool taken = found == OwnerWord::unlocked() && word.compare_exchange_strong(seen, mine.raw);
  return taken ? Lock::taken : Lock::busy;
}

// Whether plain stores of this rank to the word have not been released: then they must go out first.
bool HomeAtomics::has_plain_changes(const Block& b, const Modification& modification) const {
  return rules::is_dirty(b.entry) &&
         std::memcmp(b.own + modification.offset, b.published + modification.offset, modification.bytes) != 0;
}

// Under the lock. Where the home has no public copy, readers take its live bytes, which they must announce:
// that is for the home alone, while nobody has.
bool HomeAtomics::may_modify(const Block& b, const Place& place, const Modification& modification) const {
  const bool at_home = place.home == ground_.self();
  const std::uint64_t write_ts = ground_.shared(place.words->write_ts).load();
  const std::uint64_t public_ts = ground_.shared(place.words->public_ts).load();
  if (write_ts == 0) return false;
  if (!at_home) {
    const bool is_free =
        ground_.shared(place.order[0]).load() == 0 && ground_.shared(place.order[1]).load() == 0;
    return is_free && public_ts == write_ts && !has_plain_changes(b, modification);
  }
  if (public_ts == write_ts) return true;
  const Version version{LogicalTime{write_ts}, LogicalTime{ground_.shared(place.words->read_ts).load()}};
  return place.words->unpublished() && rules::is_unread(version) && !b.entry.gave_up_copy;
}

// Under the lock.
void HomeAtomics::modify_at(Block& b, const Place& place, Modification& modification) {
  const std::size_t at = modification.offset, bytes = modification.bytes;
  std::byte* const word = place.bytes.own + at;
  std::array<std::byte, bytes_max> before;
  std::memcpy(before.data(), word, bytes);
  const std::uint64_t words = rules::atomic_words_of(at, bytes);
  ground_.learn_atomic_words(b.words, words);
  ground_.learn_atomic_words(*place.words, words);
  modification.takes_writes_along = false;
  modification.apply(place.bytes.own);
  if (std::memcmp(before.data(), word, bytes) == 0) return;
  ground_.others_may_act();
  const Entry& e = b.entry;
  if (ground_.shared(place.words->public_ts).load() != 0)
    std::memcpy(place.bytes.published + at, word, bytes);
  if (place.home != ground_.self() && e.write_ts != LogicalTime{}) {
    const bool has_twin = rules::is_dirty(e) || e.published_equals;
    std::memcpy(b.own + at, word, bytes);
    if (has_twin && !ground_.injected(InjectedBug::atomic_leaves_twin))
      std::memcpy(b.published + at, word, bytes);
  }
  ground_.others_may_act();
  tell(b, place);
}

// The word has changed. The notice names the home, which has all changes; this rank must hear of it, too, as
// others may have changed the same version. A reader that overlaps this looks again, whether or not there is
// a new time.
void HomeAtomics::tell(Block& b, const Place& place) {
  BlockWords& words = *place.words;
  Version version{LogicalTime{ground_.shared(words.write_ts).load()},
                  LogicalTime{ground_.shared(words.read_ts).load()}};
  const PublicCopy copy =
      ground_.shared(words.public_ts).load() != 0 ? PublicCopy::holds_it : PublicCopy::none;
  const bool is_unread = rules::is_unread(version) || ground_.injected(InjectedBug::atomic_after_lease);
  if (!is_unread) {
    version = {version.read_ts + 1, version.read_ts + 1};
    versions_.store_words(words, version, copy);
  }
  if (!is_unread || rules::name_of_version(version.write_ts) != b.entry.named)
    versions_.tell_of(b, version, place.home, copy);
  if (place.home == ground_.self()) {
    b.entry.write_ts = version.write_ts;
    b.entry.read_ts = version.read_ts;
  }
  versions_.end_critical_section(words);
}

}  // namespace musubi::coherence::migrating
