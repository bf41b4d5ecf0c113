// What stops faults for a while: a release as of one moment stops openings for writing, a turn in the
// background all openings of closed blocks (docs/decisions/background.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/event.h"
#include "base/task.h"
#include "coherence/ordering.h"
#include "coherence/rules/faults.h"

namespace musubi::coherence::migrating {

class FaultHolds {
 public:
  rules::Holds now() const noexcept { return {writes_.load(), openings_.load()}; }

  // Takes effect for tasks that enter a gate from now on.
  void hold_writes(bool held) noexcept { writes_.store(held); }

  // One caller at a time. Tasks that are in a gate may still open its block.
  Task<> hold_openings() {
    auto pass = co_await openings_gate_.enter();
    openings_held_.emplace(std::move(pass));
    change_.store(false);
    openings_.store(true);
  }
  void allow_openings() noexcept {
    openings_.store(false);
    openings_held_.reset();
  }
  Task<> end_of_openings_held() { auto pass = co_await openings_gate_.enter(); }

  // A thread that is back at a closed block looks whether the word at its address has changed.
  void begin_look() noexcept { looks_.fetch_add(1); }
  void end_look(bool found_change) noexcept {
    if (found_change) change_.store(true);
    looks_.fetch_sub(1);
  }
  Reread found() const noexcept {
    const bool looks_go_on = looks_.load() != 0;  // before what they find
    if (change_.load()) return Reread::change;
    return looks_go_on ? Reread::looking : Reread::nothing;
  }

 private:
  std::atomic<bool> writes_{false};    // no block may be opened for writing
  std::atomic<bool> openings_{false};  // no closed block may be opened
  std::atomic<std::uint32_t> looks_{0};
  std::atomic<bool> change_{false};
  Gate openings_gate_;  // for tasks that wait for the end of a hold
  std::optional<Gate::Pass> openings_held_;
};

}  // namespace musubi::coherence::migrating
