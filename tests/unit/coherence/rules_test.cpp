// The protocol's rules as tables: an entry and the home's times in, the decision out.
#include <gtest/gtest.h>

#include "coherence/rules/evictions.h"
#include "coherence/rules/home_words.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/naming.h"
#include "coherence/rules/notices.h"
#include "coherence/rules/permits.h"
#include "coherence/rules/publication.h"
#include "coherence/rules/states.h"
#include "entries.h"

namespace musubi::coherence::rules {
namespace {

constexpr State all_states[] = {State::invalid_clean,  State::invalid_dirty,  State::stores_only,
                                State::readable_clean, State::readable_dirty, State::writable};

TEST(States, SayWhatTheProgramMayDoAndWhetherThereAreChanges) {
  const bool valid[] = {false, false, false, true, true, true};
  const bool dirty[] = {false, true, true, false, true, true};
  for (std::size_t i = 0; i < std::size(all_states); ++i) {
    Entry e = in_state(all_states[i]);
    EXPECT_EQ(is_valid(e), valid[i]) << i;
    EXPECT_EQ(is_dirty(e), dirty[i]) << i;
    e.copy.pinned = true;
    EXPECT_TRUE(is_valid(e) && is_dirty(e)) << i;
  }
}

TEST(States, KeepChangesWhenACopyEnds) {
  EXPECT_EQ(when_invalidated(State::readable_clean, false), State::invalid_clean);
  EXPECT_EQ(when_invalidated(State::readable_dirty, true), State::invalid_dirty);
  EXPECT_EQ(when_invalidated(State::writable, true), State::invalid_dirty);
  EXPECT_EQ(when_invalidated(State::writable, false), State::invalid_clean);
}

TEST(States, KeepChangesWhenABlockIsOpened) {
  EXPECT_EQ(when_opened(State::invalid_clean, vm::Access::read), State::readable_clean);
  EXPECT_EQ(when_opened(State::invalid_dirty, vm::Access::read), State::readable_dirty);
  for (const State state : all_states) EXPECT_EQ(when_opened(state, vm::Access::write), State::writable);
}

TEST(States, LoseTheirChangesInARelease) {
  EXPECT_EQ(when_released(State::readable_dirty), State::readable_clean);
  EXPECT_EQ(when_released(State::invalid_dirty), State::invalid_clean);
  EXPECT_EQ(when_released(State::writable), State::writable);
}

// A release while a thread may store after its check, and one at which no thread can.
TEST(Permits, KeepUnprotectedBlocksDirtyUntilTheRankIsQuiescent) {
  vm::Segment pages{}, checked{};
  checked.unprotected = true;
  EXPECT_FALSE(has_late_stores(pages, false));
  EXPECT_FALSE(has_late_stores(checked, true));
  EXPECT_TRUE(has_late_stores(checked, false));
  const Parameters parameters;
  EXPECT_TRUE(may_downgrade(false, parameters));
  EXPECT_FALSE(may_downgrade(true, parameters));
  for (const State state : all_states) {
    EXPECT_EQ(when_released(state, true, parameters), state);
    EXPECT_EQ(when_released(state, false, parameters), when_released(state));
  }
}

TEST(Permits, LetNoBlockLoseBytesThatAThreadMayRead) {
  vm::Segment fetched{}, home_only{};
  home_only.home_only = true;
  const Parameters parameters;
  for (const State state : all_states) {
    Entry e{};
    e.copy.state = state;
    EXPECT_FALSE(may_open_for_stores(fetched, e, parameters));
    EXPECT_EQ(may_open_for_stores(home_only, e, parameters), state == State::invalid_clean);
    e.copy.late_loads = true;
    EXPECT_FALSE(may_open_for_stores(home_only, e, parameters));
  }
}

TEST(HomeWords, GrantLeasesThatLastLongEnough) {
  const HomeWord leased = HomeWord::leased_until(at(9));
  EXPECT_TRUE(leased.is_leased());
  EXPECT_EQ(leased.time(), at(9));
  EXPECT_TRUE(grants_lease(leased, at(9)));
  EXPECT_FALSE(grants_lease(leased, at(10)));
  EXPECT_FALSE(grants_lease(HomeWord::unread_since(at(9)), at(3))) << "no rank has asked";
  EXPECT_EQ(HomeWord{leased.raw() + HomeWord::one_tick}.time(), at(10)) << "a release elsewhere";
}

TEST(HomeWords, AreDatedAnewByTheHomeIfSomebodyMayReadTheVersion) {
  const Parameters parameters;
  const auto next = word_of_release_at_home(HomeWord::leased_until(at(9)), parameters);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->time(), at(10));
  EXPECT_FALSE(next->is_leased());
  EXPECT_FALSE(word_of_release_at_home(*next, parameters)) << "no rank has read it since";
}

TEST(HomeWords, AreAskedForFromTheLaterTime) {
  Parameters parameters;
  parameters.lease_ticks = 10;
  EXPECT_EQ(wanted_word(Entry{}, HomeWord::unread_since(at(4)), at(7), parameters).time(), at(17));
  EXPECT_EQ(wanted_word(Entry{}, HomeWord::leased_until(at(8)), at(7), parameters).time(), at(18));
}

TEST(States, OfBlocksThatAReleaseHasJustCompared) {
  Entry e = in_state(State::writable);
  EXPECT_TRUE(may_differ_from_twin(e, 7)) << "it was never compared";
  EXPECT_TRUE(may_differ_from_twin(e, 0));
  e.compared_in = 7;
  EXPECT_FALSE(may_differ_from_twin(e, 7));
  EXPECT_TRUE(may_differ_from_twin(e, 8)) << "threads have run since";
  EXPECT_TRUE(may_differ_from_twin(e, 0)) << "they run";
  e.published.given_up = true;
  EXPECT_TRUE(may_differ_from_twin(e, 7)) << "there is no twin";
  e = in_state(State::readable_clean);
  EXPECT_FALSE(may_differ_from_twin(e, 0));
  e.copy.pinned = true;
  EXPECT_TRUE(may_differ_from_twin(e, 0));
}

TEST(Leases, AreAskedForFromTheLaterTimeAndTheFirstTimeForTheShortest) {
  EXPECT_EQ(wanted_lease(Asked::first_time, at(5), at(3), 10), at(15));
  EXPECT_EQ(wanted_lease(Asked::first_time, at(5), at(800), 10), at(810));
  EXPECT_EQ(asked_for(at(5), at(5)), Asked::again);
  EXPECT_EQ(asked_for(at(5), at(4)), Asked::first_time);
  Parameters parameters;
  parameters.lease_ticks = 0;
  EXPECT_EQ(shortest_lease(parameters), 1u) << "no lease is shorter than one tick";
}

TEST(Leases, OfReadersThatComeAgainGrowWithTheLifeOfTheVersionUpToABound) {
  EXPECT_EQ(wanted_lease(Asked::again, at(5), at(5), 10), at(15)) << "a lease ends after its version";
  EXPECT_EQ(wanted_lease(Asked::again, at(5), at(8), 10), at(8)) << "a young version: as long as it must";
  EXPECT_EQ(wanted_lease(Asked::again, at(5), at(45), 10), at(60));
  EXPECT_EQ(wanted_lease(Asked::again, at(5), at(1'000'000), 2), at(1'000'000 + 2 * shortest_leases_max));
}

TEST(Leases, OfTheHomeItselfReachNoFurtherThanTheyMustWhileAVersionIsYoung) {
  EXPECT_EQ(lease_of_home(version(5, 9), at(10), 1), at(10));
  EXPECT_GT(lease_of_home(version(5, 9), at(500), 1), at(500));
  EXPECT_EQ(lease_of_home(version(5, 9), at(1'000'000), 1), at(1'000'000 + shortest_leases_max));
}

TEST(Leases, OfVersionsThatNobodyHoldsMustBeAskedFor) {
  EXPECT_FALSE(is_leased_until(version(5, 5), at(3)));
  EXPECT_TRUE(is_leased_until(version(5, 9), at(9)));
  EXPECT_FALSE(is_leased_until(version(5, 9), at(10)));
}

TEST(Leases, OfTheHomeItself) {
  EXPECT_EQ(redating_of(version(5, 9), at(9)), Redating::none);
  EXPECT_EQ(redating_of(version(5, 9), at(10)), Redating::leased_longer);
  EXPECT_EQ(redating_of(version(5, 5), at(6)), Redating::named_anew);
  EXPECT_EQ(redating_of(version(0, 0), at(6)), Redating::leased_longer) << "time 0 means zeros for good";
}

struct NamingCase {
  const char* name;
  Version home;
  bool may_be_silent;
  std::uint64_t own_read_ts;
  Version expected;
  bool is_silent;
};

TEST(Naming, GivesANewTimeWhereSomebodyMayHoldTheLastVersion) {
  const NamingCase cases[] = {
      {"the home, unread", version(5, 5), true, 5, version(5, 5), true},
      {"the home, read", version(5, 15), true, 5, version(16, 17), false},
      {"another rank, unread", version(5, 5), false, 0, version(6, 6), false},
      {"another rank, read by others", version(5, 15), false, 7, version(16, 17), false},
      {"another rank, read by this rank alone", version(5, 15), false, 15, version(16, 16), false},
      {"the first version", version(0, 0), true, 0, version(1, 1), true},
  };
  for (const NamingCase& c : cases) {
    Entry e{};
    e.held.read_ts = at(c.own_read_ts);
    const Naming naming = name_version(e, c.home, c.may_be_silent, Parameters{});
    EXPECT_EQ(naming.version.write_ts, c.expected.write_ts) << c.name;
    EXPECT_EQ(naming.version.read_ts, c.expected.read_ts) << c.name;
    EXPECT_EQ(naming.is_silent, c.is_silent) << c.name;
  }
}

TEST(Naming, GivesNoLeaseInAdvanceNowAndThen) {
  Parameters parameters;
  parameters.lease_probe_releases = 3;
  Entry e{};
  unsigned without = 0;
  for (unsigned i = 0; i < 9; ++i) {
    const Naming naming = name_version(e, version(5, 15), true, parameters);
    e.habits.leased_releases = naming.leased_releases;
    without += is_unread(naming.version);
  }
  EXPECT_EQ(without, 3u);
}

TEST(Naming, OfWhatIsTakenWithTheLock) {
  const Parameters parameters;
  EXPECT_EQ(name_taken_version(version(5, 15), false, at(3), parameters).write_ts, at(5));
  EXPECT_EQ(name_taken_version(version(5, 15), true, at(3), parameters).write_ts, at(16));
}

TEST(Naming, UnderTheLock) {
  for (const bool home_was_unpublished : {false, true}) {
    EXPECT_EQ(name_under_lock(false, true, home_was_unpublished), NameUnderLock::as_it_was);
    EXPECT_EQ(name_under_lock(true, true, home_was_unpublished), NameUnderLock::anew);
    EXPECT_EQ(name_under_lock(true, false, home_was_unpublished), NameUnderLock::anew);
  }
  EXPECT_EQ(name_under_lock(false, false, false), NameUnderLock::of_home_before);
  EXPECT_EQ(name_under_lock(false, false, true), NameUnderLock::anew);
}

TEST(Notices, TheNewestIsKept) {
  Entry e = holding(5, 15);
  hear(e, {BlockId{0}, at(4), at(14), Rank{1}});
  EXPECT_EQ(e.known.newest.write_ts, at(0)) << "older than the copy here";
  hear(e, {BlockId{0}, at(16), at(26), Rank{1}});
  hear(e, {BlockId{0}, at(7), at(17), Rank{2}});
  EXPECT_EQ(e.known.newest.write_ts, at(16));
  EXPECT_EQ(e.known.writer(), Rank{1});
}

TEST(Notices, EndCopiesWhoseLeaseEndsBeforeTheirVersion) {
  const Parameters parameters;
  const Notice notice{BlockId{0}, at(16), at(26), Rank{1}};
  EXPECT_TRUE(ends_copy(holding(5, 15), notice, parameters));
  EXPECT_FALSE(ends_copy(holding(5, 16), notice, parameters));
  EXPECT_FALSE(ends_copy(in_state(State::invalid_clean), notice, parameters));
}

TEST(Notices, NameACopyThatMayBeHeld) {
  Entry e = holding(5, 15);
  hear(e, {BlockId{0}, at(16), at(26), Rank{1}});
  EXPECT_TRUE(names_a_copy(e, at(26), Rank{0}));
  EXPECT_FALSE(names_a_copy(e, at(27), Rank{0})) << "it has ended";
  EXPECT_FALSE(names_a_copy(e, at(26), Rank{1})) << "it is the own one";
  e.known.live = true;
  EXPECT_FALSE(names_a_copy(e, at(26), Rank{0})) << "there is none";
}

TEST(Evictions, TryACopyBeforeItGoes) {
  using rules::Fate;
  Entry e{};
  e.held.write_ts = LogicalTime{3};
  e.copy.state = State::readable_clean;
  EXPECT_EQ(rules::fate_of(e, false), Fate::is_tried);
  EXPECT_EQ(rules::fate_of(e, true), Fate::stays);  // it has been touched since
  e.copy.state = State::invalid_clean;
  EXPECT_EQ(rules::fate_of(e, true), Fate::goes);
  EXPECT_EQ(rules::fate_of(e, false), Fate::goes);
  for (const State state : {State::invalid_dirty, State::readable_dirty, State::writable}) {
    e.copy.state = state;
    EXPECT_EQ(rules::fate_of(e, true), Fate::stays);
  }
  e.copy.state = State::invalid_clean;
  e.held.write_ts = LogicalTime{};
  e.queues.copies = true;  // readers find zeros there
  EXPECT_EQ(rules::fate_of(e, true), Fate::stays);
}

TEST(Evictions, KnowThatNobodyTakesTheBytes) {
  Entry e{};
  e.held.write_ts = LogicalTime{5};
  EXPECT_TRUE(rules::is_taken_for_sure(e, LogicalTime{}));  // never was home
  EXPECT_FALSE(rules::is_taken_for_sure(e, LogicalTime{5}));
  e.known.newest.write_ts = LogicalTime{6};
  EXPECT_TRUE(rules::is_taken_for_sure(e, LogicalTime{5}));
  EXPECT_TRUE(rules::tries_more(0, 0));
  EXPECT_TRUE(rules::tries_more(17, 2));
  EXPECT_FALSE(rules::tries_more(16, 2));
}

TEST(Publication, IsForBlocksThatOthersRead) {
  using enum FirstWrite;
  EXPECT_EQ(first_write_of(version(5, 5), false, false, true, false), leaves_copy);
  EXPECT_EQ(first_write_of(version(5, 15), false, false, true, false), needs_twin);
  EXPECT_EQ(first_write_of(version(5, 5), false, false, false, false), needs_twin);
  EXPECT_EQ(first_write_of(version(5, 15), true, true, true, true), stays_live);
  EXPECT_EQ(first_write_of(version(5, 15), true, true, true, false), gets_copy_again);
  EXPECT_EQ(first_write_of(version(5, 15), true, false, true, true), gets_copy_again);
}

TEST(Publication, OfLiveBlocksAtARelease) {
  using enum LiveRelease;
  EXPECT_EQ(live_release_of(version(5, 5), true, true, true), passes);
  EXPECT_EQ(live_release_of(version(5, 15), true, true, true), names_live);
  EXPECT_EQ(live_release_of(version(5, 15), false, true, true), publishes)
      << "a thread could write at the same time";
  EXPECT_EQ(live_release_of(version(5, 15), true, true, false), publishes);
  EXPECT_EQ(live_release_of(version(5, 5), true, false, true), publishes);
}

TEST(Publication, CopiesGoThatNobodyNeeds) {
  Entry e = holding(5, 9);
  EXPECT_FALSE(copy_is_needless_elsewhere(e, at(5), at(5))) << "the next home may still read it";
  EXPECT_FALSE(copy_is_needless_elsewhere(e, at(0), at(4))) << "there is none";
  EXPECT_TRUE(copy_is_needless_elsewhere(e, at(4), at(4)));
  EXPECT_TRUE(copy_is_needless_elsewhere(e, at(5), at(4))) << "named by this rank as a visitor";
  e.known.newest.write_ts = at(6);
  EXPECT_TRUE(copy_is_needless_elsewhere(e, at(5), at(5)));
  e.copy.state = State::readable_dirty;
  EXPECT_FALSE(copy_is_needless_elsewhere(e, at(5), at(5))) << "it is a twin";

  BlockWords home{};
  home.write_ts = home.public_ts = 5;
  e = holding(5, 9);
  EXPECT_TRUE(copy_is_needless(e, home, true)) << "readers may take the live bytes";
  EXPECT_FALSE(copy_is_needless(e, home, false));
  EXPECT_FALSE(copy_is_needless(holding(4, 9), home, true));
  e.copy.state = State::writable;
  EXPECT_FALSE(copy_is_needless(e, home, true));
  home.public_ts = 0;
  EXPECT_FALSE(copy_is_needless(e, home, true)) << "somebody may still give one";
  e.published.given_up = true;
  EXPECT_TRUE(copy_is_needless(e, home, false)) << "it is memory only";
  EXPECT_FALSE(copy_is_needless(holding(0, 0), BlockWords{}, true)) << "readers expect zeros";
}

TEST(Publication, WritableBlocksAreClosedWhereAFaultIsCheaper) {
  Parameters parameters;
  parameters.downgrade_after_releases = 8;
  Entry e = in_state(State::writable);
  EXPECT_TRUE(stays_writable(e, true, false, false, parameters));
  EXPECT_FALSE(stays_writable(e, true, false, true, parameters));
  EXPECT_TRUE(stays_writable(e, true, true, true, parameters));
  e.habits.idle_releases = 7;
  EXPECT_TRUE(stays_writable(e, false, false, false, parameters));
  e.habits.idle_releases = 8;
  EXPECT_FALSE(stays_writable(e, false, false, false, parameters));
}

}  // namespace
}  // namespace musubi::coherence::rules
