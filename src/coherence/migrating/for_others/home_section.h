// A visit at the home of a block by a call on behalf of another rank: it has the block's lock for a few steps
// and names the version that it has made.
#pragma once

#include <cstdint>

#include "coherence/core/version.h"
#include "coherence/migrating/for_others/reads.h"
#include "fabric/calls.h"

namespace musubi::coherence::migrating {

// The verdicts of calls that change a block at its home.
namespace changes_at_home {
inline constexpr fabric::Verdict done = 1;
inline constexpr fabric::Verdict elsewhere = 2;  // the home has moved on
inline constexpr fabric::Verdict busy = 3;       // another rank has the lock: try again
inline constexpr fabric::Verdict refused = 4;    // the block must come to the caller
inline constexpr fabric::Verdict contested = 5;  // other ranks changed the same bytes: send the twin's, too
}  // namespace changes_at_home

class HomeSection {
 public:
  HomeSection(const fabric::Call& call, const HomeSide& side, std::uint64_t block) noexcept;
  HomeSection(const HomeSection&) = delete;
  // REQUIRES: left, if it was entered.
  ~HomeSection() = default;

  // Whether there is such a block. If not, nothing else may be called.
  bool exists() const noexcept { return words_ != nullptr && own_words_ != nullptr; }
  BlockWords& words() const noexcept { return *words_; }
  // Takes the lock. Result: done; busy; elsewhere, then `home` says where to look next: at the initial home
  // the rank that joined the lock's queue last, elsewhere where the link leads.
  fabric::Verdict enter(Rank initial_home, std::uint32_t& home) noexcept;
  // Inside: whether the public copy has the bytes of the version; whether there is none, and the live bytes
  // are all; whether threads there must not see new bytes before an acquire; whether some are held back for
  // that; whether no thread there has the block open.
  LogicalTime public_ts() const noexcept;  // none: no public copy
  bool has_bytes() const noexcept;
  bool is_live() const noexcept;
  bool keeps_order() const noexcept;
  bool holds_back() const noexcept;
  bool rests() const noexcept;
  // Inside: no thread there runs program code before this section has been left.
  bool is_quiescent() const noexcept;
  Version version() const noexcept;
  // The bytes of this version are there, in the public copy, too, if there is one. Then end_change(), also if
  // the version keeps its name: a reader that overlaps this looks again. `lines` have changed since the
  // version `found`.
  void name(Version version) noexcept;
  void end_change(Version found, const LineMask& lines) noexcept;
  void leave() noexcept;

 private:
  std::uint64_t& own_word(std::uint64_t offset) const noexcept;

  const fabric::Call& call_;
  const HomeSide& side_;
  const BlockId block_;
  BlockWords* const words_;
  std::byte* const own_words_;  // of the rank: from VisitLayout::epoch() to visitors()
};

}  // namespace musubi::coherence::migrating
