#include "coherence/migrating/migrating.h"

#include <algorithm>

#include "coherence/migrating/acquires/acquires.h"
#include "coherence/migrating/misses/faults.h"
#include "coherence/migrating/order/order.h"
#include "coherence/migrating/releases/releases.h"
#include "coherence/migrating/room/evictions.h"
#include "coherence/migrating/room/home_migration.h"

namespace musubi::coherence {

using namespace migrating;

namespace {

std::size_t smallest_block_of(const vm::Space& space) {
  std::size_t smallest = space.largest_block_bytes();
  for (const vm::Segment& segment : space.segments()) smallest = std::min(smallest, segment.block_bytes);
  return smallest;
}

class RoomOfParts final : public Room {
 public:
  RoomOfParts(Ground& ground, Evictions& evictions, HomeMigration& home_migration)
      : ground_(ground), evictions_(evictions), home_migration_(home_migration) {}

  std::size_t resident_bytes() const override { return ground_.residents.bytes(); }
  Task<std::size_t> throw_out(std::size_t bytes) override { return evictions_.throw_out(bytes); }
  Task<Offer> offer(std::span<BlockId> blocks) override { return home_migration_.offer(blocks); }
  Task<std::size_t> take_over(std::span<const BlockId> blocks, std::size_t bytes) override {
    return home_migration_.take_over(blocks, bytes);
  }
  Task<std::size_t> end_offer(std::span<const BlockId> blocks) override {
    return home_migration_.end_offer(blocks);
  }
  Task<bool> discard(BlockId first, std::uint64_t count) override {
    return home_migration_.discard(first, count);
  }
  std::size_t copy_bytes() const override { return ground_.residents.copy_bytes(); }
  std::size_t smallest_block_bytes() const override { return smallest_block_of(ground_.space); }
  std::size_t largest_block_bytes() const override { return ground_.space.largest_block_bytes(); }

 private:
  Ground& ground_;
  Evictions& evictions_;
  HomeMigration& home_migration_;
};

}  // namespace

// From the ground up: each part calls only parts that stand above it here.
struct Migrating::Parts {
  Parts(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
        remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
        const PrivateParts* private_parts)
      : ground(space, fabric, vm, counters, grants, memory, parameters, private_parts) {}

  Ground ground;
  AcquiresInOrder acquires_in_order;
  FaultGates holds{ground};
  DeferredUpdates deferred{ground, acquires_in_order};
  Stacks stacks{ground, deferred};
  Versions versions{ground};
  Twins twins{ground, deferred};
  Leases leases{ground, versions};
  LineCopies lines{ground};
  Relays relays{ground, lines};
  Downgrades downgrades{ground, twins};
  Unpublished unpublished{ground, versions, twins, lines, downgrades};
  CopyReclaim copy_reclaim{ground, versions, twins};
  Arrivals arrivals{ground, acquires_in_order, deferred, twins, leases, relays};
  Evictions evictions{ground, arrivals};
  HomeMerges home_merges{ground, versions, twins, leases};
  Takeovers takeovers{ground, versions, twins, arrivals};
  HomeAtomics home_atomics{ground, versions, lines, arrivals, leases};
  Publications publications{ground, versions, twins, lines, arrivals, takeovers, home_atomics};
  Fetches fetches{ground, versions, leases, relays, lines, arrivals, takeovers};
  Runs runs{ground, leases, lines, arrivals, fetches};
  Faults faults{ground, holds, twins, leases, arrivals, fetches, runs, unpublished};
  Releases releases{ground, versions,    twins,        lines,       downgrades,
                    stacks, home_merges, publications, unpublished, copy_reclaim};
  Acquires acquires{ground, deferred, twins, leases, relays, fetches, stacks};
  HomeMigration home_migration{ground, versions, twins, arrivals, evictions, takeovers, publications};
  RoomOfParts room{ground, evictions, home_migration};
  Order order{ground, acquires_in_order, holds, deferred, twins, stacks, arrivals, faults, releases};
};

Migrating::Migrating(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                     remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                     const PrivateParts* private_parts)
    : parts_(new Parts(space, fabric, vm, counters, grants, memory, parameters, private_parts)) {}
Migrating::~Migrating() = default;

Task<bool> Migrating::fault(BlockId block, vm::Access wanted) {
  const FaultOutcome outcome = co_await parts_->faults.fault(block, {wanted}, false);
  co_return outcome == FaultOutcome::open;
}
void Migrating::set_store_bound(const StoreBound& bound) noexcept {
  parts_->ground.store.set_store_bound(bound);
}
Task<> Migrating::release(Scope, bool quiescent) {
  return parts_->releases.release(quiescent);
}
bool Migrating::release_at_once(bool quiescent) {
  return parts_->releases.release_at_once(quiescent);
}
Task<> Migrating::acquire(SignatureView signature, Audience audience, Scope) {
  return parts_->acquires.acquire(signature, audience);
}
bool Migrating::acquire_at_once(SignatureView signature, Audience audience) {
  return parts_->acquires.acquire_at_once(signature, audience);
}
std::uint64_t Migrating::signature(SignatureSink& sink) {
  return parts_->ground.signature.read([&sink](SignatureView view) { sink.take(view); });
}
void Migrating::forget(std::uint64_t mark) {
  parts_->ground.signature.forget(mark);
}
LogicalTime Migrating::clock() const {
  return parts_->ground.times.clock();
}
Task<> Migrating::acquire_clock(LogicalTime time) {
  return parts_->acquires.acquire_clock(time);
}
Task<> Migrating::modify(BlockId block, Modification& modification) {
  return parts_->publications.modify(block, modification);
}
bool Migrating::modify_at_once(BlockId block, Modification& modification) {
  return parts_->faults.modify_at_once(block, modification);
}
void Migrating::pin(BlockId first, std::uint64_t count) {
  parts_->stacks.pin(first, count);
}
void Migrating::note_stack(std::size_t range, std::uintptr_t low, std::uintptr_t high) {
  parts_->stacks.note(range, low, high);
}
void Migrating::adopt(BlockId first, std::uint64_t count) {
  parts_->publications.adopt(first, count);
}
Ordering& Migrating::ordering() {
  return parts_->order;
}
Room* Migrating::room() noexcept {
  return &parts_->room;
}
const Entry& Migrating::entry(BlockId block) const {
  return parts_->ground.store.entry(block);
}
LogicalTime Migrating::acquired() const {
  return parts_->ground.times.acquired();
}

}  // namespace musubi::coherence
