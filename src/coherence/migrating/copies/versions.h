// The words of a block at its home: which version this rank has, and whether a public copy holds its bytes.
// All functions run under the block's lock.
#pragma once

#include "coherence/core/version.h"
#include "coherence/migrating/ground/ground.h"

namespace musubi::coherence::migrating {

enum class PublicCopy { holds_it, none };

class Versions {
 public:
  explicit Versions(Ground& ground) : ground_(ground) {}

  // The block has new bytes: names them, after the version `home`. Silent: no rank can hold a copy of the
  // last version, and this rank has announced that one: so no notice is needed, and the timestamps may stay.
  // `may_be_silent`: this rank was home all the time.
  void name(HeldBlock& b, Version home, bool may_be_silent, PublicCopy copy);
  // This rank is the home of `version`; the public copy holds its bytes, or there is none.
  void store(HeldBlock& b, Version version, PublicCopy copy = PublicCopy::holds_it);
  // The words of that alone, at any home that this process reaches.
  void store_words(BlockWords& words, Version version, PublicCopy copy);
  // This rank has made `version`, or changed the bytes of one that no rank holds: all ranks but `writer` must
  // hear of it. If that is another rank this one must hear of it, too: no older version may replace what is
  // here.
  void tell_of(HeldBlock& b, Version version, Rank writer, PublicCopy copy);
  // The home is about to change the bytes of a version that no rank holds. Copies of older versions end by
  // the notice of this one. If another rank has told it, before the home moved, this one does so now.
  void tell_unless_told(HeldBlock& b, Version version, PublicCopy copy);
  // The home, another rank, has `version` since this rank merged there; its bytes are here, too. The notice
  // sends readers to the home. No lock.
  void take_from_visit(HeldBlock& b, Version version, Rank home);
  // Before the unlock: readers that overlapped this critical section must see it.
  void end_critical_section(HeldBlock& b) { end_critical_section(b.words); }
  void end_critical_section(BlockWords& words) {
    ground_.others_may_act();
    if (!ground_.injected(InjectedBug::version_not_raised)) ground_.shared(words.version).fetch_add(1);
  }
  // Readers take the live bytes from now on. REQUIRES: the block is at home here, and
  // Ground::may_be_unpublished() a moment ago.
  void give_up_public_copy(HeldBlock& b);
  // Whether a release makes a version even if it finds no difference: a rank that took the live bytes of this
  // one may have published writes that are not released yet.
  bool must_name_anew(const Entry& e) const {
    return e.published.given_up && !ground_.injected(InjectedBug::taken_change_kept_quiet);
  }

 private:
  bool has_told(const Entry& e, Version version) const;

  Ground& ground_;
};

}  // namespace musubi::coherence::migrating
