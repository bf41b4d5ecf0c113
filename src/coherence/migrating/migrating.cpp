#include "coherence/migrating/migrating.h"

#include "coherence/migrating/engine.h"

namespace musubi::coherence {

struct Migrating::Parts {
  migrating::Engine engine;
};

Migrating::Migrating(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                     remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                     const PrivateParts* private_parts, Interruption* interruption)
    : parts_(
          new Parts{{space, fabric, vm, counters, grants, memory, parameters, private_parts, interruption}}) {
}
Migrating::~Migrating() = default;

Task<bool> Migrating::fault(BlockId block, vm::Access wanted) {
  for (;;) {
    const FaultOutcome outcome = co_await parts_->engine.fault(block, {wanted}, false);
    if (outcome != FaultOutcome::held) co_return outcome == FaultOutcome::open;
    co_await parts_->engine.end_of_holding();
  }
}
Task<FaultOutcome> Migrating::fault_in_order(BlockId block, Touch touch) {
  for (;;) {
    const FaultOutcome outcome = co_await parts_->engine.fault(block, touch, true);
    if (outcome != FaultOutcome::held) co_return outcome;
    co_await parts_->engine.end_of_holding();
  }
}
Task<> Migrating::release_as_of_now() {
  return parts_->engine.release_as_of_now();
}
std::uint32_t Migrating::order_begins() {
  return parts_->engine.order_begins();
}
Task<bool> Migrating::order_ended(std::uint32_t number) {
  return parts_->engine.order_ended(number);
}
bool Migrating::shows_unordered() const {
  return parts_->engine.shows_unordered();
}
void Migrating::set_store_bound(StoreBound bound) noexcept {
  parts_->engine.set_store_bound(bound);
}
const RaceLog* Migrating::races() const noexcept {
  return parts_->engine.races();
}
Task<> Migrating::release(bool quiescent) {
  return parts_->engine.release(quiescent);
}
bool Migrating::release_at_once(bool quiescent) {
  return parts_->engine.release_at_once(quiescent);
}
Task<> Migrating::acquire(SignatureView signature, Audience audience) {
  return parts_->engine.acquire(signature, audience);
}
bool Migrating::acquire_at_once(SignatureView signature, Audience audience) {
  return parts_->engine.acquire_at_once(signature, audience);
}
std::uint64_t Migrating::signature(SignatureSink& sink) {
  return parts_->engine.signature().read([&sink](SignatureView view) { sink.take(view); });
}
void Migrating::forget(std::uint64_t mark) {
  parts_->engine.signature().forget(mark);
}
LogicalTime Migrating::clock() const {
  return parts_->engine.clock();
}
Task<> Migrating::acquire_clock(LogicalTime time) {
  return parts_->engine.acquire_clock(time);
}
Task<> Migrating::modify(BlockId block, Modification& modification) {
  return parts_->engine.modify(block, modification);
}
void Migrating::pin(BlockId first, std::uint64_t count) {
  parts_->engine.pin(first, count);
}
void Migrating::set_live_range(std::size_t range, std::uintptr_t low, std::uintptr_t high) {
  parts_->engine.set_live_range(range, low, high);
}
void Migrating::adopt(BlockId first, std::uint64_t count) {
  parts_->engine.adopt(first, count);
}
void Migrating::publish_always() {
  parts_->engine.publish_always();
}
void Migrating::set_ordered(bool ordered) {
  parts_->engine.set_ordered(ordered);
}
Task<> Migrating::end_of_unordered() {
  return parts_->engine.end_of_unordered();
}
Task<> Migrating::hold_openings() {
  return parts_->engine.hold_openings();
}
Reread Migrating::reread_while_held() const {
  return parts_->engine.reread_while_held();
}
void Migrating::allow_openings() {
  parts_->engine.allow_openings();
}
Task<> Migrating::show_held_back() {
  return parts_->engine.show_held_back();
}
bool Migrating::holds_back() const {
  return parts_->engine.holds_back();
}
Task<bool> Migrating::has_released_standing() {
  return parts_->engine.has_released_standing();
}
void Migrating::set_program_stands(bool stands) {
  parts_->engine.set_program_stands(stands);
}
const Entry& Migrating::entry(BlockId block) const {
  return parts_->engine.entry(block);
}
LogicalTime Migrating::acquired() const {
  return parts_->engine.acquired();
}

}  // namespace musubi::coherence
