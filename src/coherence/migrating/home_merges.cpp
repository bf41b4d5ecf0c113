// The visitor takes the home's lock without becoming the home, merges while it has it, names the version, and
// leaves. All of its steps go to one rank, and none waits for a task there.
#include "coherence/migrating/home_merges.h"

#include <cstddef>
#include <span>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/rules/states.h"
#include "coherence/rules/writers.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using fabric::Step;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

Task<bool> HomeMerges::release(Block& b) {
  if (!may_visit(b)) co_return false;
  if (!ground_.fabric.capabilities(ground_.believed_home(b)).local_pointer) {
    const bool merged = co_await far_.release(b);
    co_return merged;
  }
  if (rules::is_first_release(b.entry)) co_return false;
  Stay stay{};
  const bool entered = co_await enter(b, stay);
  if (!entered) co_return false;
  if (!may_merge(b, stay)) {
    co_await leave(b, stay);
    co_return false;
  }
  Entry& e = b.entry;
  const Rank home = stay.home;
  ground_.learn_atomic_words(b.words, stay.words.atomic_words);
  arrivals_.note_arrival(b);
  ground_.count(Counter::comparisons);
  const HomeBytes bytes{ground_.fabric.direct(home, private_region) + b.extent.offset,
                        ground_.fabric.direct(home, published_region) + b.extent.offset,
                        sharing_there(b, stay)};
  const bool changed = twins_.merge_both(b, bytes, home) || versions_.must_name_anew(e);
  const Version found{LogicalTime{stay.words.write_ts}, LogicalTime{stay.words.read_ts}};
  const LogicalTime acquired = ground_.times.acquired();
  Version version = rules::name_beside_home(found, acquired, ground_.parameters);
  if (!changed) version = {found.write_ts, rules::lease_beside_home(found, acquired, ground_.parameters)};
  co_await leave_with_version(b, stay, version);
  e.releases_alone = rules::next_releases_alone(e, found.write_ts);
  versions_.take_from_visit(b, version, home, changed ? std::optional(ground_.self()) : std::nullopt);
  if (rules::is_valid(e) && !e.pinned) leases_.watch(b.id, e);
  ground_.count(Counter::home_merges);
  co_return true;
}

// Bytes that come must be shown at once: they go into open pages.
bool HomeMerges::may_visit(const Block& b) const {
  const Entry& e = b.entry;
  return rules::leaves_home_there(e) && !ground_.keeps_order() && !e.held_back && !e.bytes_lost &&
         !ground_.is_home(b);
}

// The home, as far as this rank knows it, and as the words that it finds there lead on.
Task<bool> HomeMerges::enter(const Block& b, Stay& stay) {
  const VisitLayout& layout = ground_.visits.layout();
  stay.home = ground_.believed_home(b);
  unsigned links = 0;
  for (unsigned look = 0; look < rules::visit_looks_max && links <= rules::visit_links_max; ++look) {
    if (stay.home == ground_.self() || !ground_.fabric.capabilities(stay.home).local_pointer) co_return false;
    std::array<Step, 3 + remote_lock::QueueLock::visit_steps_max> steps;
    stay.lock = {};
    std::size_t count =
        ground_.locks.begin_visit(b.id.value, stay.home, b.initial_home, stay.lock, steps.data());
    steps[count++] = fabric::fetch_add(words_region, layout.visitors(), &stay.visitors_before, 1);
    steps[count++] = fabric::get(words_region, layout.order(), stay.order.data(), sizeof stay.order);
    steps[count++] = fabric::get(words_region, word_offset(b.id, 0), &stay.words, sizeof stay.words);
    co_await fabric::transfer(ground_.fabric, stay.home, std::span<const Step>(steps.data(), count));
    if (stay.lock.has_lock()) co_return true;
    co_await leave(b, stay);
    const OwnerWord found = stay.lock.seen.resolved(stay.home, b.initial_home);
    if (found.tag() == Ownership::link) {
      stay.home = found.target();
      ++links;
    } else {
      co_await pause(look);
    }
  }
  co_return false;
}

// The public copy has the bytes of the version, and threads there may see new bytes at any time.
bool HomeMerges::may_merge(const Block& b, const Stay& stay) const {
  const bool is_free =
      (stay.order[0] == 0 && stay.order[1] == 0) || ground_.injected(InjectedBug::visitor_beside_order);
  return is_free && stay.words.public_ts != 0 && stay.words.public_ts == stay.words.write_ts &&
         stay.words.write_ts >= b.entry.write_ts.value;
}

// A home at a barrier leaves it only after this visitor has left. Threads that wait there use their stacks.
Sharing HomeMerges::sharing_there(const Block& b, const Stay& stay) const {
  const bool holds_stacks = ground_.space.segment_of(b.id).holds_stacks;
  return stay.order[2] != 0 && !holds_stacks ? Sharing::exclusive : Sharing::open;
}

Task<> HomeMerges::leave(const Block& b, Stay& stay) {
  std::array<Step, 2> steps{
      ground_.locks.end_visit(b.id.value, stay.lock),
      fabric::fetch_add(words_region, ground_.visits.layout().visitors(), &stay.visitors_before, UINT64_MAX)};
  const std::span<const Step> all(steps);
  co_await fabric::transfer(ground_.fabric, stay.home, stay.lock.has_lock() ? all : all.last(1));
}

// The words in the order of Versions::store(), then the end of the critical section.
Task<> HomeMerges::leave_with_version(const Block& b, Stay& stay, Version version) {
  MUSUBI_CHECK(version.read_ts >= version.write_ts && version.write_ts.value >= stay.words.write_ts);
  std::uint64_t sections_before = 0;
  const std::uint64_t section = ground_.injected(InjectedBug::version_not_raised) ? 0 : 1;
  const auto put_time = [&](std::size_t member, const LogicalTime& time) {
    return fabric::put(words_region, word_offset(b.id, member), &time.value, sizeof time.value);
  };
  std::array<Step, 6> steps{
      put_time(offsetof(BlockWords, write_ts), version.write_ts),
      put_time(offsetof(BlockWords, read_ts), version.read_ts),
      put_time(offsetof(BlockWords, public_ts), version.write_ts),
      fabric::fetch_add(words_region, word_offset(b.id, offsetof(BlockWords, version)), &sections_before,
                        section),
      ground_.locks.end_visit(b.id.value, stay.lock),
      fabric::fetch_add(words_region, ground_.visits.layout().visitors(), &stay.visitors_before, UINT64_MAX)};
  co_await fabric::transfer(ground_.fabric, stay.home, steps);
}

}  // namespace musubi::coherence::migrating
