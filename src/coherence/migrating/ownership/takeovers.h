// This rank takes a block's lock, becomes its home, and brings the version of the home before.
#pragma once

#include <cstddef>

#include "base/task.h"
#include "coherence/migrating/copies/arrivals.h"
#include "coherence/migrating/copies/versions.h"

namespace musubi::coherence::migrating {

// A block's lock that this rank has just taken, and the data piggy-backed by a home that did not hold it.
struct Lock {
  Rank previous;     // the home until now
  bool knows_words;  // they have come, and after them the public copy into `place`
  BlockWords words;  // there
  std::byte* place;  // null: the public copy was not asked for
  bool has_brought;  // its bytes have been merged with those here
};

class Takeovers {
 public:
  Takeovers(Ground& ground, Versions& versions, Twins& twins, Arrivals& arrivals)
      : ground_(ground), versions_(versions), twins_(twins), arrivals_(arrivals) {}

  // Waits for the lock. `place`: room for the public copy of the home before, if it comes along; null: it is
  // not asked for.
  Task<Lock> lock(const HeldBlock& b, std::byte* place = nullptr);
  // The words of the home before, unless they have come along.
  Task<> learn_words(const HeldBlock& b, Lock& lock);
  // Makes private bytes and twin those of the newest version plus this rank's changes. Result: that version.
  Task<Version> bring_newest(HeldBlock& b, Lock& lock);
  // This rank becomes the home of the version of the rank that had the lock before. `target`: room for its
  // bytes, or the private ones. Unlocks.
  Task<> become_home(HeldBlock& b, const Lock& lock, std::byte* target);
  // This rank needs no bytes of the rank that had the lock before: learns its words. If that rank keeps the
  // block without a public copy, it makes its twin itself.
  Task<> leave_bytes(const HeldBlock& b, Lock& lock);
  // The bytes of the rank that had the lock before, and its words. Nothing else changes here.
  Task<BlockWords> take_from_home(HeldBlock& b, const Lock& lock, std::byte* target);

 private:
  Ground& ground_;
  Versions& versions_;
  Twins& twins_;
  Arrivals& arrivals_;
};

}  // namespace musubi::coherence::migrating
