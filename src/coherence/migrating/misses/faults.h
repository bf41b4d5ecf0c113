// Page faults: from the touch of a closed page to its opening.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/event.h"
#include "base/task.h"
#include "coherence/migrating/misses/runs.h"
#include "coherence/migrating/ownership/unpublished.h"
#include "coherence/ordering.h"
#include "coherence/rules/faults.h"

namespace musubi::coherence::migrating {

// Gates that stop faults for a while: a release as of one moment stops openings for writing, a turn in the
// background all openings of closed blocks (docs/decisions/background.md).
class FaultGates {
 public:
  explicit FaultGates(Ground& ground) : ground_(ground) {}

  rules::Holds now() const noexcept { return {writes_.load(), ground_.openings_hold.load()}; }

  // Takes effect for tasks that enter a gate from now on.
  void hold_writes(bool held) noexcept { writes_.store(held); }

  // One caller at a time. Tasks that are in a gate may still open its block.
  Task<> hold_openings() {
    auto pass = co_await openings_gate_.enter();
    openings_held_.emplace(std::move(pass));
    change_.store(false);
    number_ = number_ % numbers + 1;
    ground_.openings_hold.store(number_);
  }
  void allow_openings() noexcept {
    MUSUBI_CHECK(openings_held_.has_value());
    ground_.openings_hold.store(0);
    openings_held_.reset();
  }
  Task<> end_of_openings_held() { auto pass = co_await openings_gate_.enter(); }

  // A thread that is back at a block that the hold found open looks whether the word at its address has
  // changed.
  void begin_look() noexcept { looks_.fetch_add(1); }
  void end_look(bool found_change) noexcept {
    if (found_change) change_.store(true);
    MUSUBI_CHECK(looks_.fetch_sub(1) != 0);
  }
  Reread found() const noexcept {
    const bool looks_go_on = looks_.load() != 0;  // before their findings
    if (change_.load()) return Reread::change;
    return looks_go_on ? Reread::looking : Reread::nothing;
  }

 private:
  static constexpr std::uint8_t numbers = 63;  // those that Habits::ended_in_hold can hold

  Ground& ground_;
  std::atomic<bool> writes_{false};  // no block may be opened for writing
  std::uint8_t number_ = 0;          // of the last hold of openings
  std::atomic<std::uint32_t> looks_{0};
  std::atomic<bool> change_{false};
  Gate openings_gate_;  // for tasks that wait for the end of a hold
  std::optional<Gate::Pass> openings_held_;
};

// No caller holds a gate. Any thread.
class Faults {
 public:
  Faults(Ground& ground, FaultGates& holds, Twins& twins, Leases& leases, Arrivals& arrivals,
         Fetches& fetches, Runs& runs, Unpublished& unpublished)
      : ground_(ground),
        holds_(holds),
        twins_(twins),
        leases_(leases),
        arrivals_(arrivals),
        fetches_(fetches),
        runs_(runs),
        unpublished_(unpublished) {}

  // Opens the block. Waits until faults are no longer held, and tries again. `in_order`: opens no bytes that
  // no acquire in order has covered. Result: open, or not_in_order.
  Task<FaultOutcome> fault(BlockId block, Touch touch, bool in_order);
  // As Protocol::modify_at_once(), on a block that is open for writing while the rank is alone.
  bool modify_at_once(BlockId block, Modification& modification);

 private:
  Task<FaultOutcome> fault_once(BlockId block, Touch touch, bool in_order);
  Task<bool> make_writable(HeldBlock& b);
  Task<> look_while_held(HeldBlock& b, std::uintptr_t address);
  Task<> end_of_holding();

  Ground& ground_;
  FaultGates& holds_;
  Twins& twins_;
  Leases& leases_;
  Arrivals& arrivals_;
  Fetches& fetches_;
  Runs& runs_;
  Unpublished& unpublished_;
};

}  // namespace musubi::coherence::migrating
