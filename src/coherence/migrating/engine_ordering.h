// The engine as programs with plain flags need it.
#pragma once

#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

class EngineOrdering final : public Ordering {
 public:
  explicit EngineOrdering(Engine& engine) : engine_(engine) {}

  std::uint32_t acquire_begins() override { return engine_.order_begins(); }
  Task<bool> acquire_ended(std::uint32_t number) override { return engine_.order_ended(number); }
  bool shows_unordered() const override { return engine_.shows_unordered(); }
  Task<> show_held_back() override { return engine_.show_held_back(); }
  bool holds_back() const override { return engine_.holds_back(); }
  Task<FaultOutcome> fault(BlockId block, Touch touch) override {
    return engine_.fault_after_holds(block, touch, true);
  }
  void set_ordered(bool ordered) override { engine_.set_ordered(ordered); }
  Task<> end_of_unordered() override { return engine_.end_of_unordered(); }
  void set_quiescent(bool quiescent) override { engine_.set_quiescent(quiescent); }
  Task<> hold_openings() override { return engine_.hold_openings(); }
  Reread reread_while_held() const override { return engine_.reread_while_held(); }
  void allow_openings() override { engine_.allow_openings(); }
  void publish_always() override { engine_.publish_always(); }
  Task<> release_as_of_now() override { return engine_.release_as_of_now(); }
  Task<bool> has_released_at_barrier() override { return engine_.has_released_at_barrier(); }

 private:
  Engine& engine_;
};

}  // namespace musubi::coherence::migrating
