// Misses: makes the private bytes of a block valid. Goes by the newest notice; otherwise follows the owner
// words to the home and takes a lease there. Takes the lock only when the home changes again and again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/task.h"
#include "coherence/migrating/copies/leases.h"
#include "coherence/migrating/copies/line_copies.h"
#include "coherence/migrating/copies/relays.h"
#include "coherence/migrating/ownership/takeovers.h"
#include "remote_lock/owner_word.h"

namespace musubi::coherence::migrating {

// Whether `peer`, whose owner word it is, is the home of the block and no rank is in the critical section.
inline bool is_home(const HeldBlock& b, Rank peer, std::uint64_t owner) {
  return remote_lock::OwnerWord{owner}.resolved(peer, b.initial_home).tag() ==
         remote_lock::Ownership::unlocked;
}

// The rank from which a block is fetched: by its notice, or as the home.
struct Source {
  Rank rank;
  bool by_hint;
  friend bool operator==(const Source&, const Source&) = default;
};

class Fetches {
 public:
  Fetches(Ground& ground, Versions& versions, Leases& leases, Relays& relays, LineCopies& lines,
          Arrivals& arrivals, Takeovers& takeovers)
      : ground_(ground),
        versions_(versions),
        leases_(leases),
        relays_(relays),
        lines_(lines),
        arrivals_(arrivals),
        takeovers_(takeovers) {}

  // Makes the private bytes valid up to Times::acquired(), and watches over their lease.
  Task<> fetch(HeldBlock& b);
  // The same for a block that is about to be written. If no rank has written it yet, this rank becomes its
  // home at once (fetches.cpp).
  Task<> fetch_for_writing(HeldBlock& b);
  // Whether this rank has seen nothing of the block so far. Its bytes here are zero, private and public ones.
  bool looks_untouched(const HeldBlock& b) const;

  // The rank where the search for the newest version begins, if no notice names it.
  Rank first_place_to_look(const HeldBlock& b) const;
  // The request of a look at the home.
  LookRequest request_for(const HeldBlock& b, BytesFrom from, LinesWanted lines = {}) const;

 private:
  enum class Outcome { accepted, elsewhere, changed, not_at_readers };
  Task<> fetch_once(HeldBlock& b);
  Task<> fetch_into(HeldBlock& b, std::byte* target);
  Task<bool> fetch_by_hint(HeldBlock& b, std::byte* target);
  Task<Outcome> fetch_from(HeldBlock& b, std::byte* target, Rank* peer, bool relayed_in_vain);
  BytesFrom bytes_from(const HeldBlock& b, bool relayed_in_vain) const;
  Task<> fetch_under_lock(HeldBlock& b, std::byte* target);

  Ground& ground_;
  Versions& versions_;
  Leases& leases_;
  Relays& relays_;
  LineCopies& lines_;
  Arrivals& arrivals_;
  Takeovers& takeovers_;
};

}  // namespace musubi::coherence::migrating
