// The lock of the block keeps all others away for the few steps that an operation takes. The word changes
// where the home's program sees it, and in the home's public copy: so the home does not take it for a change
// of its own later.
#include "coherence/migrating/home_operations.h"

#include <atomic>
#include <cstring>

#include "coherence/core/block_words.h"
#include "coherence/migrating/home_looks.h"
#include "coherence/regions.h"
#include "coherence/rules/atomics.h"
#include "coherence/rules/leases.h"
#include "remote_lock/owner_word.h"

namespace musubi::coherence::migrating {
namespace {

using fabric::Call;
using fabric::Verdict;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

// The home of a block, as the call reaches it.
struct Place {
  BlockWords* words;
  std::uint64_t* order;  // VisitLayout::order(), held_back()
  std::uint64_t* held_back;
  std::byte* live;  // the bytes of the operation, where the program sees them
  std::byte* copy;
};

std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) noexcept {
  return std::atomic_ref<std::uint64_t>(word);
}

bool find(const Call& call, const VisitLayout& layout, const OperationRequest& request,
          Place& place) noexcept {
  const std::uint64_t at = request.offset + request.place;
  place = {call.object_at<BlockWords>(words_region, word_offset(BlockId{request.block}, 0)),
           call.object_at<std::uint64_t>(words_region, layout.order()),
           call.object_at<std::uint64_t>(words_region, layout.held_back()),
           call.at(private_region, at, request.bytes), call.at(published_region, at, request.bytes)};
  return request.block < layout.count(0) && place.words != nullptr && place.order != nullptr &&
         place.held_back != nullptr && place.live != nullptr && place.copy != nullptr;
}

bool is_operation(const OperationRequest& request) noexcept {
  const unsigned bytes = request.bytes;
  return request.kind <= AtomicOperation::Kind::compare_exchange &&
         (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
}

AtomicOperation operation_of(const OperationRequest& request) noexcept {
  AtomicOperation operation{request.kind, request.bytes};
  std::memcpy(&operation.operand, request.operand, sizeof operation.operand);
  std::memcpy(&operation.compare, request.compare, sizeof operation.compare);
  return operation;
}

// Under the lock. The public copy has the bytes of the version. Threads there may see new bytes at any time,
// or cannot: a block at rest is opened by an acquire in order.
bool may_operate(const Hooks& hooks, const Place& place, const OperationRequest& request) noexcept {
  const std::uint64_t write_ts = shared(place.words->write_ts).load();
  if (write_ts == 0 || shared(place.words->public_ts).load() != write_ts) return false;
  if (shared(*place.held_back).load() != 0) return false;
  if (request.orders_nothing != 0) return true;
  if (request.in_order == 0 && shared(*place.order).load() == 0) return true;
  const bool rests = (shared(place.words->stillness).load() & BlockWords::at_rest) != 0;
  return rests || hooks.injected(InjectedBug::atomic_beside_order);
}

// The word has changed. A version that somebody may hold gets a new time. A reader that overlaps this looks
// again, whether or not there is one.
void name_version(const Hooks& hooks, BlockWords& words, OperationResult& result) noexcept {
  result.version = {LogicalTime{shared(words.write_ts).load()}, LogicalTime{shared(words.read_ts).load()}};
  if (!rules::is_unread(result.version) && !hooks.injected(InjectedBug::atomic_after_lease)) {
    result.is_named = 1;
    result.version = {result.version.read_ts + 1, result.version.read_ts + 1};
    const std::uint64_t now = result.version.write_ts.value;
    shared(words.write_ts).store(now);
    hooks.others_may_act();
    shared(words.read_ts).store(now);
    hooks.others_may_act();
    shared(words.public_ts).store(now);
  }
  hooks.others_may_act();
  if (!hooks.injected(InjectedBug::version_not_raised)) shared(words.version).fetch_add(1);
}

// Under the lock.
void operate(const Hooks& hooks, const Place& place, const OperationRequest& request,
             OperationResult& result) noexcept {
  BlockWords& words = *place.words;
  const std::uint64_t touched = rules::atomic_words_of(request.place, request.bytes);
  if ((shared(words.atomic_words).load() & touched) != touched) shared(words.atomic_words).fetch_or(touched);
  const AtomicOperation operation = operation_of(request);
  const AtomicValue old = modify_in_place(place.live, operation);
  const AtomicValue next = musubi::apply(operation, old);
  std::memcpy(result.old, &old, sizeof old);
  hooks.took_effect(request.witness, &old, &next);
  if (old == next) return;
  result.changed = 1;
  hooks.others_may_act();
  std::memcpy(place.copy, &next, request.bytes);
  hooks.others_may_act();
  name_version(hooks, words, result);
}

}  // namespace

Verdict operate_at_home(Call& call, const void* data) noexcept {
  const HomeSide& side = *static_cast<const HomeSide*>(data);
  OperationRequest request;
  Place place{};
  if (!call.read(request) || !is_operation(request) || !find(call, side.layout, request, place)) {
    return fabric::malformed;
  }
  OperationResult result{};
  const auto owner = shared(place.words->owner);
  std::uint64_t seen = owner.load();
  const OwnerWord found = OwnerWord{seen}.resolved(call.target(), Rank{request.initial_home});
  if (found.tag() == Ownership::link) {
    result.home = found.target().value;
    return call.add(result) ? operations::elsewhere : fabric::malformed;
  }
  const bool is_free = found == OwnerWord::unlocked();
  side.hooks.others_may_act();
  if (!is_free || !owner.compare_exchange_strong(seen, OwnerWord::tried_by(call.caller()).raw)) {
    return operations::busy;
  }
  side.hooks.others_may_act();
  const bool may = may_operate(side.hooks, place, request);
  if (may) operate(side.hooks, place, request, result);
  side.hooks.others_may_act();
  owner.store(OwnerWord::unlocked().raw);
  side.hooks.others_may_act();
  if (!may) return operations::refused;
  return call.add(result) ? operations::done : fabric::malformed;
}

}  // namespace musubi::coherence::migrating
