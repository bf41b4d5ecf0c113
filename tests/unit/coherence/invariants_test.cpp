// Each invariant of a block can be broken, and is then named.
#include "coherence/rules/invariants.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "entries.h"

namespace musubi::coherence::rules {
namespace {

struct Broken {
  const char* name;
  Entry entry;
  BlockWords words{};
  bool is_home = false;
  LogicalTime expired{};
};

// Holds version 5, listed and watched: a block of which all invariants hold.
Entry sound(State state) {
  Entry e = in_state(state);
  e.held = version(5, 9);
  e.queues.releases = e.queues.sleepers = e.queues.leases = true;
  return e;
}
Entry changed(State state, const std::function<void(Entry&)>& change) {
  Entry e = sound(state);
  change(e);
  return e;
}
Entry pinned() {
  Entry e = sound(State::invalid_clean);
  e.copy.pinned = true;
  e.queues = {};
  return e;
}
BlockWords still(std::uint64_t stillness) {
  BlockWords words{};
  words.stillness = stillness;
  return words;
}
BlockWords unpublished() {
  BlockWords words{};
  words.write_ts = words.read_ts = 5;
  return words;
}

std::vector<Broken> one_of_each() {
  Entry without_base = pinned();
  without_base.copy.held_back = true;
  Entry closable = pinned();
  closable.queues.leases = true;
  return {
      {"lease_follows_version", changed(State::readable_clean, [](Entry& e) { e.held = version(5, 4); })},
      {"bytes_are_here", changed(State::readable_clean, [](Entry& e) { e.copy.bytes_lost = true; })},
      {"held_back_is_pinned", without_base},
      {"pinned_stays_open", closable},
      {"rested_is_closed", changed(State::readable_clean, [](Entry& e) { e.copy.rested = true; })},
      {"sleep_is_no_rest", sound(State::invalid_clean), still(BlockWords::asleep | BlockWords::at_rest)},
      {"sleeper_is_listed", changed(State::invalid_clean, [](Entry& e) { e.queues.sleepers = false; }),
       still(BlockWords::asleep)},
      {"resting_is_closed", sound(State::readable_clean), still(BlockWords::at_rest), true},
      {"unpublished_was_given_up", sound(State::readable_clean), unpublished(), true},
      {"readable_is_leased", sound(State::readable_clean), {}, false, at(10)},
      {"dirty_is_listed", changed(State::writable, [](Entry& e) { e.queues.releases = false; })},
      {"readable_is_watched", changed(State::readable_clean, [](Entry& e) { e.queues.leases = false; })},
  };
}

TEST(Invariants, AllHoldOfABlockAtStartAndOfSoundOnes) {
  for (const Entry& e :
       {Entry{}, sound(State::invalid_clean), sound(State::invalid_dirty), sound(State::readable_clean),
        sound(State::readable_dirty), sound(State::writable), pinned()}) {
    EXPECT_EQ(broken_at_rest({e, BlockWords{}, true, at(9)}), nullptr);
    EXPECT_TRUE(entry_holds(e));
  }
}

TEST(Invariants, EachCanBeBrokenAlone) {
  constexpr std::size_t of_entry = 5;  // the first ones, to rested_is_closed: entry_holds() has the same
  const std::vector<Broken> cases = one_of_each();
  ASSERT_EQ(cases.size(), all_invariants.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Broken& broken = cases[i];
    EXPECT_STREQ(all_invariants[i].name, broken.name);
    EXPECT_EQ(entry_holds(broken.entry), i >= of_entry) << broken.name;
    for (const Invariant& invariant : all_invariants) {
      const bool holds = invariant.holds({broken.entry, broken.words, broken.is_home, broken.expired});
      EXPECT_EQ(holds, std::string(invariant.name) != broken.name) << broken.name << ", " << invariant.name;
    }
  }
}

}  // namespace
}  // namespace musubi::coherence::rules
