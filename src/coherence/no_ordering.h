// For policies that know no plain flags: no fault is held, and their releases and acquires alone give order.
#pragma once

#include "coherence/protocol.h"

namespace musubi::coherence {

class NoOrdering final : public Ordering {
 public:
  explicit NoOrdering(Protocol& protocol) : protocol_(protocol) {}

  std::uint32_t acquire_begins() override { return 0; }
  Task<bool> acquire_ended(std::uint32_t) override { co_return true; }
  bool shows_unordered() const override { return false; }
  Task<> show_held_back() override { co_return; }
  bool holds_back() const override { return false; }
  Task<FaultOutcome> fault(BlockId block, Touch touch) override {
    const bool opened = co_await protocol_.fault(block, touch.wanted);
    co_return opened ? FaultOutcome::open : FaultOutcome::refused;
  }
  void set_ordered(bool) override {}
  Task<> end_of_unordered() override { co_return; }
  void set_quiescent(bool) override {}
  Task<> hold_openings() override { co_return; }
  Reread reread_while_held() const override { return Reread::change; }
  void allow_openings() override {}
  void set_alone(bool) override {}
  bool is_alone() const override { return false; }
  void publish_always() override {}
  Task<> release_as_of_now() override { return protocol_.release(Scope::everything(), false); }
  Task<bool> has_released_at_barrier() override { co_return true; }  // releases hold nothing back

 private:
  Protocol& protocol_;
};

}  // namespace musubi::coherence
