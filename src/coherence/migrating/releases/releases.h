// Releases: changes become a new version, with this rank as its home.
#pragma once

#include "base/task.h"
#include "base/task_group.h"
#include "coherence/migrating/copies/line_copies.h"
#include "coherence/migrating/copies/stacks.h"
#include "coherence/migrating/ownership/unpublished.h"
#include "coherence/migrating/releases/copy_reclaim.h"
#include "coherence/migrating/releases/home_merges.h"
#include "coherence/migrating/releases/publications.h"

namespace musubi::coherence::migrating {

class Releases {
 public:
  Releases(Ground& ground, Versions& versions, Twins& twins, LineCopies& lines, Downgrades& downgrades,
           Stacks& stacks, HomeMerges& home_merges, Publications& publications, Unpublished& unpublished,
           CopyReclaim& copy_reclaim)
      : ground_(ground),
        versions_(versions),
        twins_(twins),
        lines_(lines),
        downgrades_(downgrades),
        stacks_(stacks),
        home_merges_(home_merges),
        publications_(publications),
        unpublished_(unpublished),
        copy_reclaim_(copy_reclaim) {}

  // As Protocol.
  Task<> release(bool quiescent);
  bool release_at_once(bool quiescent);

  // Parts of a release, for the holder of Ground::release_gate. A block with its home elsewhere becomes a
  // task of `elsewhere`.
  Task<> release_one(BlockId id, bool quiescent, TaskGroup& elsewhere);
  // From here on no rank can miss a write before this call: blocks that slept, and must be looked at, are
  // listed.
  Task<> begin();
  Task<> release_stacks(bool quiescent, TaskGroup& elsewhere);

 private:
  enum class AtHome { done, done_but_watched, not_done };
  AtHome look_from_elsewhere(HeldBlock& b, bool quiescent);
  AtHome release_at_home(HeldBlock& b, bool quiescent);
  Task<> release_elsewhere(BlockId id, bool quiescent);

  Ground& ground_;
  Versions& versions_;
  Twins& twins_;
  LineCopies& lines_;
  Downgrades& downgrades_;
  Stacks& stacks_;
  HomeMerges& home_merges_;
  Publications& publications_;
  Unpublished& unpublished_;
  CopyReclaim& copy_reclaim_;
};

}  // namespace musubi::coherence::migrating
