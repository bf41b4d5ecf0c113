#include "coherence/migrating/migrating.h"

#include "coherence/migrating/engine_ordering.h"

namespace musubi::coherence {

struct Migrating::Parts {
  migrating::Engine engine;
  migrating::EngineOrdering ordering{engine};
};

Migrating::Migrating(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                     remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                     const PrivateParts* private_parts)
    : parts_(new Parts{{space, fabric, vm, counters, grants, memory, parameters, private_parts}}) {}
Migrating::~Migrating() = default;

Task<bool> Migrating::fault(BlockId block, vm::Access wanted) {
  const FaultOutcome outcome = co_await parts_->engine.fault_after_holds(block, {wanted}, false);
  co_return outcome == FaultOutcome::open;
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
void Migrating::note_stack(std::size_t range, std::uintptr_t low, std::uintptr_t high) {
  parts_->engine.note_stack(range, low, high);
}
void Migrating::adopt(BlockId first, std::uint64_t count) {
  parts_->engine.adopt(first, count);
}
Ordering& Migrating::ordering() {
  return parts_->ordering;
}
const Entry& Migrating::entry(BlockId block) const {
  return parts_->engine.entry(block);
}
LogicalTime Migrating::acquired() const {
  return parts_->engine.acquired();
}

}  // namespace musubi::coherence
