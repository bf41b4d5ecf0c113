// Rules of fixed homes: the word by which a home grants leases and dates versions (coherence.md section 11).
// It holds the latest time of a lease or a version, and whether a rank may hold a lease on the present
// version. Away from the home, Knowledge::newest keeps the word that was last seen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "coherence/core/entry.h"
#include "coherence/core/parameters.h"
#include "coherence/rules/leases.h"

namespace musubi::coherence::rules {

class HomeWord {
 public:
  constexpr explicit HomeWord(std::uint64_t raw) : raw_(raw) {}
  static constexpr HomeWord leased_until(LogicalTime time) { return HomeWord(time.value << 1 | 1); }
  static constexpr HomeWord unread_since(LogicalTime time) { return HomeWord(time.value << 1); }
  // A release elsewhere adds this to the word: a version one later than all before.
  static constexpr std::uint64_t one_tick = 2;

  constexpr std::uint64_t raw() const { return raw_; }
  constexpr LogicalTime time() const { return LogicalTime{raw_ >> 1}; }
  constexpr bool is_leased() const { return (raw_ & 1) != 0; }

 private:
  std::uint64_t raw_;
};

// A lease that was renewed without a change doubles: the word does not tell since when the version lives.
inline constexpr std::uint8_t lease_doublings_max = 10;

// The new Habits::lease_doublings when a renewal has found nothing changed.
constexpr std::uint8_t next_doublings(const Entry& e) {
  return std::min<std::uint8_t>(lease_doublings_max, e.habits.lease_doublings + 1);
}

// The word that a reader asks for, where it believes the home to have `word`.
constexpr HomeWord wanted_word(const Entry& e, HomeWord word, LogicalTime acquired,
                               const Parameters& parameters) {
  return HomeWord::leased_until(later(word.time(), acquired) +
                                (shortest_lease(parameters) << e.habits.lease_doublings));
}

// Whether copies taken under the word may be held at `acquired`.
constexpr bool grants_lease(HomeWord word, LogicalTime acquired) {
  return word.is_leased() && word.time() >= acquired;
}

// The home's word after a release of the home; none: it stays, since no rank can hold a copy of the changed
// bytes.
constexpr std::optional<HomeWord> word_of_release_at_home(HomeWord word, const Parameters& parameters) {
  if (!word.is_leased() || parameters.hooks.injected(InjectedBug::silent_after_lease)) return std::nullopt;
  return HomeWord::unread_since(word.time() + 1);
}

}  // namespace musubi::coherence::rules
