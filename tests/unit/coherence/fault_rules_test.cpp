// The rules of faults, and of lookups at the home, as tables.
#include <gtest/gtest.h>

#include "coherence/rules/faults.h"
#include "coherence/rules/publication.h"
#include "entries.h"

namespace musubi::coherence::rules {
namespace {

TEST(Looks, TellWhetherTheTwinIsOfTheHomesVersion) {
  BlockWords home{};
  home.write_ts = home.public_ts = 5;
  EXPECT_TRUE(twin_is_of(holding(5, 9), home));
  home.public_ts = 0;
  EXPECT_FALSE(twin_is_of(holding(5, 9), home)) << "live bytes have no second look";
  home.write_ts = home.public_ts = 6;
  EXPECT_FALSE(twin_is_of(holding(5, 9), home));
}

TEST(Faults, NeedWhatTheStateLacks) {
  using enum FaultStep;
  const auto read = vm::Access::read, write = vm::Access::write;
  EXPECT_EQ(fault_step(in_state(State::invalid_clean), read, {}), fetches);
  EXPECT_EQ(fault_step(in_state(State::invalid_dirty), write, {}), fetches);
  EXPECT_EQ(fault_step(in_state(State::readable_clean), read, {}), none);
  EXPECT_EQ(fault_step(in_state(State::readable_clean), write, {}), opens);
  EXPECT_EQ(fault_step(in_state(State::writable), write, {}), none);
}

TEST(Faults, WaitWhileTheyAreHeld) {
  using enum FaultStep;
  const auto read = vm::Access::read, write = vm::Access::write;
  Entry e = in_state(State::invalid_clean);
  EXPECT_EQ(fault_step(e, write, {.writes = true, .openings = 0}), waits);
  EXPECT_EQ(fault_step(e, read, {.writes = true, .openings = 0}), fetches);
  EXPECT_EQ(fault_step(e, read, {.writes = false, .openings = 2}), waits);
  e.habits.was_invalidated = true;
  e.habits.ended_in_hold = 1;
  EXPECT_EQ(fault_step(e, read, {.writes = false, .openings = 2}), waits) << "it was closed before";
  e.habits.ended_in_hold = 2;
  EXPECT_EQ(fault_step(e, read, {.writes = false, .openings = 2}), looks_waits);
  EXPECT_EQ(fault_step(e, write, {.writes = false, .openings = 2}), waits);
  EXPECT_EQ(fault_step(in_state(State::readable_clean), write, {.writes = false, .openings = 2}), opens);
}

TEST(Faults, TakeNeighboursAlongThatWereUsed) {
  const auto read = vm::Access::read, write = vm::Access::write;
  Entry e = in_state(State::invalid_clean);
  EXPECT_TRUE(comes_along(e, read, true, false)) << "a stream leads there";
  EXPECT_FALSE(comes_along(e, read, false, true));
  e.habits.was_invalidated = true;
  EXPECT_TRUE(comes_along(e, read, false, true)) << "it was read again the last time";
  EXPECT_FALSE(comes_along(e, read, true, false)) << "it came along in vain";
  e.habits.last_opening = Opening::changed;
  EXPECT_TRUE(comes_along(e, write, false, false));
  e.habits.last_opening = Opening::in_vain;
  EXPECT_FALSE(comes_along(e, write, true, false));
  EXPECT_FALSE(comes_along(in_state(State::invalid_dirty), write, true, true));
}

TEST(Faults, OfBlocksThatNobodyHasTouched) {
  EXPECT_TRUE(looks_untouched(Entry{}));
  EXPECT_FALSE(looks_untouched(in_state(State::invalid_dirty)));
  EXPECT_FALSE(looks_untouched(in_state(State::readable_clean)));
  Entry e{};
  e.known.newest.write_ts = at(1);
  EXPECT_FALSE(looks_untouched(e)) << "a notice told of a version";
  e = Entry{};
  e.held.write_ts = at(1);
  EXPECT_FALSE(looks_untouched(e));
  e = Entry{};
  e.copy.bytes_lost = true;
  EXPECT_FALSE(looks_untouched(e));
}

TEST(Faults, FindWhatCameInOrder) {
  Entry e = holding(5, 9);
  EXPECT_FALSE(has_arrived(e));
  e.came_in = 1;
  EXPECT_TRUE(has_arrived(e));
  EXPECT_TRUE(may_be_opened(e, at(9)));
  EXPECT_FALSE(may_be_opened(e, at(10)));
  e.known.newest.write_ts = at(10);
  EXPECT_FALSE(may_be_opened(e, at(9))) << "a newer version is known of";
  e.copy.bytes_lost = true;
  EXPECT_FALSE(has_arrived(e));
}

}  // namespace
}  // namespace musubi::coherence::rules
