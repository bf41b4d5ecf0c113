#include "coherence/home_based/home_based.h"

#include <array>
#include <optional>

#include "base/check.h"
#include "coherence/rules/home_words.h"
#include "coherence/rules/notices.h"
#include "fabric/transfer.h"

namespace musubi::coherence {

using fabric::Step;
using rules::HomeWord;

namespace {

std::uint64_t lease_word(BlockId block) {
  return word_offset(block, offsetof(BlockWords, read_ts));
}
std::uint64_t version_word(BlockId block) {
  return word_offset(block, offsetof(BlockWords, version));
}

// The home's word as it is if one release has ended the lease.
void foresee_release(Entry& e) {
  const HomeWord seen{e.known.newest.write_ts.value};
  if (seen.is_leased()) e.known.newest.write_ts = LogicalTime{HomeWord::unread_since(seen.time() + 1).raw()};
}

}  // namespace

HomeBased::HomeBased(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                     remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                     const PrivateParts* private_parts)
    : FixedHome(space, fabric, vm, counters, grants, memory, parameters, private_parts),
      packet_side_{space, parameters.hooks},
      signature_(*memory.signature),
      leases_(space.blocks_max()) {
  fabric.offer(packet_procedure, {&apply_packet, &packet_side_});
}

// The lease first, then version and bytes. A writer that comes after the lease gets a later time than its
// end; a writer that came before has raised the version already. If the home's word is not the expected one,
// either the lease that it shows is long enough for us too, or we try again.
//
// The copy enters the queue before its lease is compared with `acquired`: an acquire that ends in the
// meantime finds the copy there, or is seen here.
Task<bool> HomeBased::bring(Block& b, std::byte* target) {
  Entry& e = b.entry;
  bool with_bytes = e.held.write_ts == LogicalTime{} || e.habits.finds_changes;
  // If the home changes it all the time, it has most likely ended our lease by one release.
  if (e.habits.finds_changes) foresee_release(e);
  for (;;) {
    const HomeWord believed{e.known.newest.write_ts.value};
    const HomeWord wanted = rules::wanted_word(e, believed, LogicalTime{acquired_.load()}, parameters_);
    std::uint64_t seen = 0;
    std::uint64_t version = 0;
    std::array<Step, 3> steps{
        fabric::compare_swap(words_region, lease_word(b.id), &seen, believed.raw(), wanted.raw()),
        fabric::get(words_region, version_word(b.id), &version, sizeof version),
        fabric::get(private_region, b.extent.offset, target, b.extent.bytes)};
    co_await fabric::transfer(fabric_, b.initial_home,
                              std::span<const Step>(steps).first(with_bytes ? 3 : 2));
    const HomeWord now = seen == believed.raw() ? wanted : HomeWord{seen};
    e.known.newest.write_ts = LogicalTime{now.raw()};
    const bool is_changed = version + 1 != e.held.write_ts.value;
    const bool needs_bytes = is_changed && !with_bytes;
    with_bytes = with_bytes || is_changed;
    if (needs_bytes || !now.is_leased()) continue;
    e.held.read_ts = now.time();
    watch_lease(b);
    const bool is_checked = !parameters_.hooks.injected(InjectedBug::lease_not_rechecked);
    if (is_checked && !rules::grants_lease(now, LogicalTime{acquired_.load()})) continue;
    e.habits.finds_changes = is_changed && e.held.write_ts != LogicalTime{};  // a first copy tells nothing
    e.held.write_ts = LogicalTime{version + 1};
    e.habits.lease_doublings = is_changed ? std::uint8_t{0} : rules::next_doublings(e);
    co_return with_bytes;
  }
}

// As bring(): a lease on the version that the home has now, which this rank could hold if it had its bytes.
Task<bool> HomeBased::bring_nothing(Block& b) {
  Entry& e = b.entry;
  for (;;) {
    const HomeWord believed{e.known.newest.write_ts.value};
    const HomeWord wanted = rules::wanted_word(e, believed, LogicalTime{acquired_.load()}, parameters_);
    std::uint64_t seen = 0, version = 0;
    const std::array<Step, 2> steps{
        fabric::compare_swap(words_region, lease_word(b.id), &seen, believed.raw(), wanted.raw()),
        fabric::get(words_region, version_word(b.id), &version, sizeof version)};
    co_await fabric::transfer(fabric_, b.initial_home, steps);
    const HomeWord now = seen == believed.raw() ? wanted : HomeWord{seen};
    e.known.newest.write_ts = LogicalTime{now.raw()};
    if (!now.is_leased()) continue;
    e.held.read_ts = now.time();
    watch_lease(b);
    if (!rules::grants_lease(now, LogicalTime{acquired_.load()})) continue;
    e.held.write_ts = LogicalTime{version + 1};
    e.habits.lease_doublings = 0;
    co_return true;
  }
}

void HomeBased::watch_lease(const Block& b) {
  if (b.entry.queues.leases) return;
  b.entry.queues.leases = true;
  leases_.push(b.entry.held.read_ts, b.id);
}

Task<> HomeBased::publish(Block& b, Puts& puts) {
  if (is_at_home(b)) {
    publish_at_home(b);
    co_return;
  }
  PublishedAtHome before{};
  puts.add(fabric::fetch_add(words_region, version_word(b.id), &before.version, 1));
  puts.add(fabric::fetch_add(words_region, lease_word(b.id), &before.word, HomeWord::one_tick));
  co_await fabric::transfer(fabric_, b.initial_home, puts.steps());
  note_published(b, before);
}

void HomeBased::note_published(Block& b, const PublishedAtHome& before) {
  Entry& e = b.entry;
  const HomeWord believed{e.known.newest.write_ts.value};
  const HomeWord now{before.word + HomeWord::one_tick};
  e.known.newest.write_ts = LogicalTime{now.raw()};
  // No other rank has released a change since this copy came: it is the new version, and leased. A rank that
  // comes between the two additions shows in the second one, or gets a later time.
  if (before.version + 1 == e.held.write_ts.value && before.word == believed.raw() && believed.is_leased()) {
    e.held.write_ts = LogicalTime{before.version + 2};
    e.held.read_ts = now.time();
  }
  announce(b, now.time());
}

void HomeBased::publish_at_home(Block& b) {
  shared(b.words.version).fetch_add(1);
  std::uint64_t seen = shared(b.words.read_ts).load();
  for (;;) {
    const std::optional<HomeWord> next = rules::word_of_release_at_home(HomeWord{seen}, parameters_);
    if (!next) return;
    if (!shared(b.words.read_ts).compare_exchange_weak(seen, next->raw())) continue;
    announce(b, next->time());
    return;
  }
}

void HomeBased::announce(const Block& b, LogicalTime time) {
  if (!parameters_.hooks.injected(InjectedBug::notice_forgotten))
    signature_.add(Notice{b.id, time, LogicalTime{}, fabric_.self()});
  raise(clock_, time);
}

Task<> HomeBased::acquire(SignatureView signature, Audience audience, Scope) {
  count(Counter::notices_received, signature.notices.size());
  LogicalTime newest = signature.minimum;
  TaskGroup fetches(parameters_.release_window);
  for (const Notice& notice : signature.notices) {
    newest = later(newest, notice.write_ts);
    const bool stays_open = co_await apply(notice);
    if (stays_open) co_await fetches.admit(refresh(notice.block));
  }
  raise(clock_, newest);
  if (audience != Audience::everyone) signature_.add_all(signature);
  co_await expire_until(signature.minimum);
  co_await fetches.drain();
  if (audience == Audience::all_ranks_soon || audience == Audience::everyone) end_barrier();
}

Task<> HomeBased::acquire_clock(LogicalTime time) {
  raise(clock_, time);
  signature_.add_all({time, {}});  // later releases cover it too
  co_await expire_until(time);
}

// Result: whether the block stays open and must be refreshed.
Task<bool> HomeBased::apply(Notice notice) {
  auto pass = co_await gate(notice.block).enter();
  Block b = block(notice.block);
  if (is_at_home(b) || !rules::ends_copy(b.entry, notice, parameters_)) co_return false;
  co_return invalidate_or_keep(b);
}

// One at a time, as in `migrating`.
Task<> HomeBased::expire_until(LogicalTime time) {
  if (expired_.load() >= time.value) co_return;
  auto pass = co_await acquire_gate_.enter();
  if (expired_.load() >= time.value) co_return;
  raise(acquired_, time);
  BlockId id;
  TaskGroup fetches(parameters_.release_window);
  while (leases_.pop_before(LogicalTime{acquired_.load()}, &id)) {
    const bool stays_open = co_await expire(id);
    if (stays_open) co_await fetches.admit(refresh(id));
  }
  co_await fetches.drain();
  raise(expired_, time);
}

// A block that has left the queue. Result: as of apply().
Task<bool> HomeBased::expire(BlockId id) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  MUSUBI_CHECK(b.entry.queues.leases, "block %lu left the queue of leases twice",
               static_cast<unsigned long>(id.value));
  b.entry.queues.leases = false;
  if (!rules::is_valid(b.entry)) co_return false;
  if (b.entry.held.read_ts.value < acquired_.load()) co_return invalidate_or_keep(b);
  watch_lease(b);
  co_return false;
}

std::uint64_t HomeBased::signature(SignatureSink& sink) {
  return signature_.read([&sink](SignatureView view) { sink.take(view); });
}

}  // namespace musubi::coherence
