// The lock of the block keeps all other ranks away for the few steps of an operation. The word changes where
// the home's program sees it, and in the home's public copy, if there is one: so the home does not take it
// for a change of its own later.
#include "coherence/migrating/for_others/home_operations.h"

#include <atomic>
#include <cstring>

#include "coherence/regions.h"
#include "coherence/rules/atomics.h"
#include "coherence/rules/leases.h"

namespace musubi::coherence::migrating {
namespace {

using fabric::Call;
using fabric::Verdict;

// The bytes of an operation at the home: where the program sees them, and where a public copy has them.
struct Place {
  std::size_t block_bytes;
  std::byte* live;
  std::byte* copy;
};

bool is_operation(const OperationRequest& request) noexcept {
  const unsigned bytes = request.bytes;
  return request.kind <= AtomicOperation::Kind::compare_exchange &&
         (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
}

// The peer's view of the block agrees with this rank's.
bool is_within_block(const vm::Extent& extent, const OperationRequest& request) noexcept {
  return request.offset == extent.offset && request.place < extent.bytes &&
         request.bytes <= extent.bytes - request.place;
}

AtomicOperation operation_of(const OperationRequest& request) noexcept {
  AtomicOperation operation{request.kind, request.bytes};
  std::memcpy(&operation.operand, request.operand, sizeof operation.operand);
  std::memcpy(&operation.compare, request.compare, sizeof operation.compare);
  return operation;
}

// Under the lock. Threads of the home may see new bytes at any time, or cannot: a block at rest is opened by
// an acquire in order.
bool may_operate(const Hooks& hooks, const HomeSection& section, const OperationRequest& request) noexcept {
  if ((!section.has_bytes() && !section.is_live()) || section.holds_back()) return false;
  // A caller that asks for an operation without a change wants the block itself (sms/shared_memory.cpp).
  if (section.is_live() && request.kind == AtomicOperation::Kind::load) return false;
  if (request.orders_nothing != 0) return true;
  if (request.in_order == 0 && !section.keeps_order()) return true;
  return section.rests() || hooks.injected(InjectedBug::atomic_beside_order);
}

// The word has changed. A version that a rank may hold gets a new time. A reader that overlaps this looks
// again, whether or not there is one.
void name_version(const Hooks& hooks, HomeSection& section, const LineMask& lines,
                  OperationResult& result) noexcept {
  const Version found = section.version();
  result.version = found;
  if (!rules::is_unread(result.version) && !hooks.injected(InjectedBug::atomic_after_lease)) {
    result.is_named = 1;
    result.version = {result.version.read_ts + 1, result.version.read_ts + 1};
    section.name(result.version);
  }
  section.end_change(found, lines);
}

// Under the lock.
void operate(const HomeSide& side, HomeSection& section, const Place& place, const OperationRequest& request,
             OperationResult& result) noexcept {
  const Hooks& hooks = side.hooks;
  const std::atomic_ref<std::uint64_t> atomic_words(section.words().atomic_words);
  const std::uint64_t touched = rules::atomic_words_of(request.place, request.bytes);
  if ((atomic_words.load() & touched) != touched) atomic_words.fetch_or(touched);
  const AtomicOperation operation = operation_of(request);
  const AtomicValue old = modify_in_place(place.live, operation);
  const AtomicValue next = musubi::apply(operation, old);
  std::memcpy(result.old, &old, sizeof old);
  hooks.took_effect(request.witness, &old, &next);
  if (old == next) return;
  result.changed = 1;
  result.is_live = section.is_live() ? 1 : 0;
  hooks.others_may_act();
  if (result.is_live == 0) std::memcpy(place.copy, &next, request.bytes);
  hooks.others_may_act();
  LineMask lines;
  lines.set_bytes(request.place, request.place + request.bytes, place.block_bytes);
  name_version(hooks, section, lines, result);
}

}  // namespace

Verdict operate_at_home(Call& call, const void* data) noexcept {
  const HomeSide& side = *static_cast<const HomeSide*>(data);
  OperationRequest request;
  const vm::Space& space = side.store->space();
  if (!call.read(request) || !is_operation(request) || request.block >= space.blocks())
    return fabric::malformed;
  const vm::Extent extent = space.extent(BlockId{request.block});
  if (!is_within_block(extent, request)) return fabric::malformed;
  HomeSection section(call, side, request.block);
  const std::uint64_t at = request.offset + request.place;
  const Place place{extent.bytes, call.at(private_region, at, request.bytes),
                    call.at(published_region, at, request.bytes)};
  if (!section.exists() || place.live == nullptr || place.copy == nullptr) return fabric::malformed;
  OperationResult result{};
  const Verdict entered = section.enter(Rank{request.initial_home}, result.home);
  if (entered == changes_at_home::elsewhere) return call.add(result) ? entered : fabric::malformed;
  if (entered != changes_at_home::done) return entered;
  const bool may = may_operate(side.hooks, section, request);
  if (may) operate(side, section, place, request, result);
  section.leave();
  if (!may) return changes_at_home::refused;
  return call.add(result) ? changes_at_home::done : fabric::malformed;
}

}  // namespace musubi::coherence::migrating
