// How long a block stays writable.
#pragma once

#include "coherence/migrating/copies/run_builder.h"
#include "coherence/migrating/copies/twins.h"

namespace musubi::coherence::migrating {

class Downgrades {
 public:
  Downgrades(Ground& ground, Twins& twins) : ground_(ground), twins_(twins), to_downgrade_(ground.space) {}

  // A release has compared the block, and published the changes. `quiescent`: as Protocol::release().
  void after_comparison(HeldBlock& b, bool changed, bool quiescent);
  // The block is writable, and its bytes were released: the next write to it faults.
  void protect(HeldBlock& b, bool quiescent);

  // Carries out the changes of protection that protect() left to the end of a quiescent release.
  void downgrade_all();

 private:
  bool stays_writable(const HeldBlock& b, bool changed);

  Ground& ground_;
  Twins& twins_;
  RunBuilder to_downgrade_;
};

}  // namespace musubi::coherence::migrating
