#include "coherence/migrating/engine.h"

#include <algorithm>
#include <cstring>

#include "coherence/migrating/run.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

Engine::Engine(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
               remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
               const PrivateParts* private_parts)
    : space_(space),
      fabric_(fabric),
      vm_(vm),
      counters_(counters),
      parameters_(parameters),
      store_(space, memory, parameters_, private_parts, counters),
      locks_(fabric, grants,
             {words_region, offsetof(BlockWords, owner), sizeof(BlockWords), tail_from_owner,
              reinterpret_cast<std::byte*>(memory.words)},
             false, parameters.hooks),
      signature_(memory.signature, parameters.signature_notices_max, parameters.hooks),
      comparison_cost_(parameters.cached_bytes),
      dirty_(space.blocks()),
      copies_(space.blocks()),
      leases_(space.blocks()),
      to_close_(space),
      to_downgrade_(space) {}

bool Engine::publish_changes(const Block& b) {
  const bool changed = b.entry.held_back ? held_back_.publish_changes(b) : store_.copy_changes(b);
  if (changed) note_copy(b);
  return changed;
}

bool Engine::differs_from_twin(const Block& b) {
  return store_.differs_from(b, b.entry.held_back ? held_back_.base_of(b) : b.published);
}

// The block has changes of this rank on top of the twin: they stay, the rest becomes `remote`.
void Engine::merge_remote(const Block& b, const std::byte* remote, Rebase rebase, Rank giver) {
  note_copy(b);
  if (injected(InjectedBug::wrong_twin)) std::memcpy(b.published, remote, b.extent.bytes);
  const bool open = b.entry.pinned || (b.entry.state == State::writable && !quiescence_);
  store_.merge(b, b.published, remote, rebase, open ? Sharing::open : Sharing::exclusive, giver);
}

// The public copy becomes the twin of what is about to be written. Where it has the same bytes already (this
// rank published them) there is nothing to copy.
void Engine::make_twin(Block& b) {
  note_copy(b);
  if (!b.entry.published_equals) {
    store_.copy_to_public(b);
    shared(b.words.public_ts).store(b.entry.write_ts.value);
    b.entry.published_equals = true;
    count(Counter::twins);
  }
}

Task<Lock> Engine::lock(const Block& b, std::byte* place) {
  Lock lock{};
  lock.place = place;
  const std::array<fabric::Step, 2> steps{
      fabric::get(words_region, word_offset(b.id, 0), &lock.words, sizeof lock.words),
      fabric::get(published_region, b.extent.offset, place, b.extent.bytes)};
  const remote_lock::Taken taken = co_await locks_.lock(
      b.id.value, b.initial_home, std::span<const fabric::Step>(steps).first(place != nullptr ? 2 : 1));
  lock.previous = taken.previous;
  lock.knows_words = taken.was_along;
  co_return lock;
}

Task<> Engine::learn_words(const Block& b, Lock& lock) {
  if (lock.knows_words) co_return;
  const std::array<fabric::Step, 1> words{
      fabric::get(words_region, word_offset(b.id, 0), &lock.words, sizeof lock.words)};
  co_await fabric::transfer(fabric_, lock.previous, words);
  lock.knows_words = true;
}

Task<FaultOutcome> Engine::fault_after_holds(BlockId id, Touch touch, bool in_order) {
  for (;;) {
    const FaultOutcome outcome = co_await fault(id, touch, in_order);
    if (outcome != FaultOutcome::held) co_return outcome;
    co_await end_of_holding();
  }
}

Task<FaultOutcome> Engine::fault(BlockId id, Touch touch, bool in_order) {
  const vm::Access wanted = touch.wanted;
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  Entry& e = b.entry;
  const rules::FaultStep step = rules::fault_step(e, wanted, holds_.now());
  if (step == rules::FaultStep::none) co_return FaultOutcome::open;
  if (step == rules::FaultStep::looks_waits) co_await look_while_held(b, touch.address);
  if (step == rules::FaultStep::waits || step == rules::FaultStep::looks_waits) co_return FaultOutcome::held;
  const bool was_valid = step == rules::FaultStep::opens;
  e.wanted = e.wanted || e.was_invalidated;
  e.fetches_ahead = 0;
  e.was_invalidated = false;
  if (!was_valid && !holds_what_came(b)) {
    if (wanted == vm::Access::write) {
      co_await fetch_for_writing(b);
    } else {
      co_await fetch(b);
    }
  }
  const bool waits_for_order = in_order && !was_valid && ordered_.load();
  if (waits_for_order && !acquires_.has_covered(e.came_in)) co_return FaultOutcome::not_in_order;
  count(wanted == vm::Access::read ? Counter::read_faults : Counter::write_faults);
  Run run;
  gather(b, wanted, run);
  if (run.count != 0) co_await make_valid(run, wanted);
  if (wanted == vm::Access::write) {
    co_await make_writable(b);
    for (std::size_t i = 0; i < run.count; ++i) {
      Block member = block(run.id(i));
      co_await make_writable(member);
    }
  }
  open(b, was_valid, wanted, run);
  co_return FaultOutcome::open;
}

// The block is valid, and about to be opened for writing.
Task<> Engine::make_writable(Block& b) {
  if (rules::is_dirty(b.entry)) co_return;
  const bool without_twin = co_await leave_unpublished(b);
  if (!without_twin) make_twin(b);
}

void Engine::set_open(const Block& b, vm::Access wanted) {
  Entry& e = b.entry;
  MUSUBI_CHECK(!e.pinned && !e.bytes_lost);
  e.came_in = 0;
  e.state = rules::when_opened(e.state, wanted);
  if (wanted == vm::Access::read) return;
  e.idle_releases = 0;
  e.compared_in = 0;
  e.last_opening = e.gave_up_copy ? Opening::changed : Opening::in_vain;
}

void Engine::pin(BlockId first, std::uint64_t blocks) {
  for (std::uint64_t i = 0; i < blocks; ++i) store_.entry(BlockId{first.value + i}).pinned = true;
  vm_.leave_open({first, blocks});
}

vm::BlockRun Engine::stack_blocks(std::size_t range) const {
  const auto [low, high] = stacks_.at(range);
  if (low >= high) return {BlockId{}, 0};
  const BlockId first = *space_.block_at(low);
  return {first, space_.block_at(high - 1)->value - first.value + 1};
}

void Engine::adopt(BlockId first, std::uint64_t blocks) {
  for (std::uint64_t i = 0; i < blocks; ++i) {
    Block b = block(BlockId{first.value + i});
    if (!publish_changes(b)) continue;  // zeros
    store_version(b, {LogicalTime{1}, LogicalTime{1}});
    b.entry.published_equals = true;
    raise(clock_, LogicalTime{1});
  }
}

}  // namespace musubi::coherence::migrating
