// The policy as programs with plain flags need it (order.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/task.h"
#include "base/task_group.h"
#include "coherence/migrating/copies/deferred_updates.h"
#include "coherence/migrating/misses/faults.h"
#include "coherence/migrating/releases/releases.h"
#include "coherence/ordering.h"

namespace musubi::coherence::migrating {

class Order final : public Ordering {
 public:
  Order(Ground& ground, AcquiresInOrder& acquires, FaultGates& holds, DeferredUpdates& deferred, Twins& twins,
        Stacks& stacks, Arrivals& arrivals, Faults& faults, Releases& releases)
      : ground_(ground),
        acquires_(acquires),
        holds_(holds),
        deferred_(deferred),
        twins_(twins),
        stacks_(stacks),
        arrivals_(arrivals),
        faults_(faults),
        releases_(releases) {}

  std::uint32_t acquire_begins() override { return acquires_.begin(); }
  Task<bool> acquire_ended(std::uint32_t number) override;
  bool shows_unordered() const override { return arrivals_.some_show_unordered(); }
  Task<> show_held_back() override { return deferred_.show_if({.regardless = true}); }
  bool holds_back() const override { return !deferred_.empty(); }
  Task<FaultOutcome> fault(BlockId block, Touch touch) override { return faults_.fault(block, touch, true); }
  void set_ordered(bool ordered) override { ground_.visits.keep_order(VisitBoard::Order::now, ordered); }
  Task<> end_of_unordered() override;
  void set_quiescent(bool quiescent) override { ground_.quiescence.set_elsewhere(quiescent); }
  Task<> hold_openings() override;
  Reread reread_while_held() const override { return holds_.found(); }
  void allow_openings() override { holds_.allow_openings(); }
  void set_alone(bool alone) override { ground_.alone.store(alone); }
  bool is_alone() const override { return ground_.alone.load(); }
  void publish_always() override { ground_.visits.keep_order(VisitBoard::Order::always, true); }
  Task<> release_as_of_now() override;
  Task<bool> has_released_at_barrier() override;

 private:
  Task<> end_of_gated();
  bool is_unread(const HeldBlock& b) const;
  Task<std::size_t> hold_changed(std::span<BlockId> listed, std::size_t held);
  Task<std::size_t> hold_and_copy_stacks(std::span<BlockId> listed, TaskGroup& elsewhere);

  Ground& ground_;
  AcquiresInOrder& acquires_;
  FaultGates& holds_;
  DeferredUpdates& deferred_;
  Twins& twins_;
  Stacks& stacks_;
  Arrivals& arrivals_;
  Faults& faults_;
  Releases& releases_;
};

}  // namespace musubi::coherence::migrating
