#include "coherence/migrating/ownership/takeovers.h"

#include <array>
#include <optional>
#include <span>

#include "base/check.h"
#include "coherence/core/visit_layout.h"
#include "coherence/migrating/for_others/overwriters.h"
#include "coherence/regions.h"
#include "coherence/rules/naming.h"
#include "coherence/rules/publication.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using fabric::Step;

namespace {

constexpr std::size_t mark_steps = VisitLayout::levels + 1;

// The steps that mark the blocks of the run, from below, and count the visit last; puts them to `to`, which
// has room for mark_steps. `before`: a place for a result that is not needed, until the steps are done.
void mark(const VisitLayout& layout, vm::BlockRun run, fabric::Step* to, std::uint64_t* before) {
  static constexpr std::array<std::byte, VisitLayout::fanout> set = [] {
    std::array<std::byte, VisitLayout::fanout> bytes{};
    for (std::byte& byte : bytes) byte = std::byte{1};
    return bytes;
  }();
  MUSUBI_CHECK(run.count != 0 && run.count <= set.size());
  std::uint64_t first = run.first.value, last = run.first.value + run.count - 1;
  for (unsigned level = 0; level < VisitLayout::levels; ++level) {
    *to++ = fabric::put(words_region, layout.mark(level, first), set.data(), last - first + 1);
    first /= VisitLayout::fanout;
    last /= VisitLayout::fanout;
  }
  *to = fabric::fetch_add(words_region, layout.visits(), before, 1);
}

// The words of the block, and its public copy if there is a place for it.
class PiggybackedWords final : public remote_lock::Piggyback {
 public:
  PiggybackedWords(const HeldBlock& b, Lock& lock)
      : steps_{fabric::get(words_region, word_offset(b.id, 0), &lock.words, sizeof lock.words),
               fabric::get(published_region, b.extent.offset, lock.place, b.extent.bytes)},
        count_(lock.place != nullptr ? 2 : 1) {}
  std::span<const Step> steps_for(Rank) noexcept override { return std::span(steps_).first(count_); }

 private:
  const std::array<Step, 2> steps_;
  const std::size_t count_;
};

}  // namespace

Task<Lock> Takeovers::lock(const HeldBlock& b, std::byte* place) {
  Lock lock{};
  lock.place = place;
  PiggybackedWords along(b, lock);
  const remote_lock::Acquisition taken = co_await ground_.locks.lock(b.id.value, b.initial_home, &along);
  lock.previous = taken.previous;
  lock.knows_words = taken.was_along;
  co_return lock;
}

Task<> Takeovers::learn_words(const HeldBlock& b, Lock& lock) {
  MUSUBI_CHECK(lock.previous != ground_.self());
  if (lock.knows_words) co_return;
  const std::array<Step, 1> words{
      fabric::get(words_region, word_offset(b.id, 0), &lock.words, sizeof lock.words)};
  co_await fabric::transfer(ground_.fabric, lock.previous, words);
  lock.knows_words = true;
}

Task<Version> Takeovers::bring_newest(HeldBlock& b, Lock& lock) {
  Entry& e = b.entry;
  if (lock.previous == ground_.self()) {
    co_return ground_.version_at_home(b);
  }
  ground_.count(Counter::home_migrations);
  if (rules::may_be_newest(e)) {
    co_await learn_words(b, lock);
    ground_.learn_atomic_words(b.words, lock.words.atomic_words);
    // Our twin came from the version that the previous home still has: no data need move.
    if (rules::twin_is_of(e, lock.words)) {
      co_return Version{LogicalTime{lock.words.write_ts}, LogicalTime{lock.words.read_ts}};
    }
  }
  std::optional<BufferPool::Buffer> scratch;
  if (lock.place == nullptr) scratch.emplace(ground_.store.scratch());
  std::byte* remote = scratch ? scratch->data() : lock.place;
  lock.words = co_await take_from_home(b, lock, remote);
  arrivals_.take_over(b, remote, giver_of(lock.previous, lock.words));
  lock.has_brought = true;
  co_return Version{LogicalTime{lock.words.write_ts}, LogicalTime{lock.words.read_ts}};
}

Task<> Takeovers::become_home(HeldBlock& b, const Lock& lock, std::byte* target) {
  Entry& e = b.entry;
  MUSUBI_CHECK(lock.previous != ground_.self(), "block %lu: home without knowing it",
               static_cast<unsigned long>(b.id.value));
  const BlockWords words = co_await take_from_home(b, lock, target);
  if (target == b.own) e.copy.bytes_lost = true;
  ground_.count(Counter::home_migrations);
  const Version version =
      rules::name_taken_version({LogicalTime{words.write_ts}, LogicalTime{words.read_ts}},
                                words.unpublished(), ground_.times.acquired(), ground_.parameters);
  arrivals_.accept(b, version, target, giver_of(lock.previous, words));
  if (!rules::is_dirty(e)) {
    twins_.publish_changes(b);
    e.published.equals = true;
  }
  versions_.store(b, version);
  versions_.end_critical_section(b);
  co_await ground_.locks.unlock(b.id.value);
}

// Brings the version of the rank that had the lock before. If that rank keeps the block unpublished, its live
// bytes become our base. We also write them to its public copy: the twin for all further writes of its
// program. Bytes that its program wrote in the meantime differ from that twin, or are in it. A block that
// sleeps is marked first: a release of that rank which does not find the mark has begun before the bytes are
// read. A block at rest has no changes there and is not open: it needs no twin.
Task<BlockWords> Takeovers::take_from_home(HeldBlock& b, const Lock& lock, std::byte* target) {
  MUSUBI_CHECK(lock.previous != ground_.self() && target != nullptr && target != b.published);
  const Rank home = lock.previous;
  BlockWords words = lock.words;
  const bool has_come = lock.knows_words && lock.place == target;
  if (!lock.knows_words || (!words.unpublished() && !has_come)) {
    std::array<Step, 2> steps{fabric::get(words_region, word_offset(b.id, 0), &words, sizeof words),
                              fabric::get(published_region, b.extent.offset, target, b.extent.bytes)};
    const std::span<const Step> all(steps);
    co_await fabric::transfer(ground_.fabric, home, lock.knows_words ? all.last(1) : all);
  }
  if (words.unpublished()) {
    std::uint64_t visits_before = 0;
    std::array<Step, mark_steps + 1> takes;
    mark(ground_.visits.layout(), {b.id, 1}, takes.data(), &visits_before);
    takes[mark_steps] = fabric::get(private_region, b.extent.offset, target, b.extent.bytes);
    const bool marks = words.sleeps() && !ground_.injected(InjectedBug::taker_without_mark);
    co_await fabric::transfer(ground_.fabric, home,
                              std::span<const Step>(takes).subspan(marks ? 0 : mark_steps));
    // No step may use the result of an earlier step of its batch.
    const std::array<Step, 2> twin{
        fabric::put(published_region, b.extent.offset, target, b.extent.bytes),
        fabric::put(words_region, word_offset(b.id, offsetof(BlockWords, public_ts)), &words.write_ts,
                    sizeof words.write_ts)};
    if (!words.rests()) co_await fabric::transfer(ground_.fabric, home, twin);
  }
  ground_.count_fetch(b);
  co_return words;
}

// As take_from_home(), but the twin is made where it is needed.
Task<> Takeovers::leave_bytes(const HeldBlock& b, Lock& lock) {
  co_await learn_words(b, lock);
  ground_.learn_atomic_words(b.words, lock.words.atomic_words);
  if (!lock.words.unpublished() || lock.words.rests()) co_return;
  const OverwriteRequest request{b.id.value, lock.words.write_ts};
  fabric::Answer<std::uint64_t> answer{};
  std::uint64_t visits_before = 0;
  std::array<Step, mark_steps + 1> steps;
  mark(ground_.visits.layout(), {b.id, 1}, steps.data(), &visits_before);
  steps[mark_steps] = fabric::call(overwrite_procedure, request, answer);
  const bool marks = lock.words.sleeps();
  co_await fabric::transfer(ground_.fabric, lock.previous,
                            std::span<const Step>(steps).subspan(marks ? 0 : mark_steps));
  MUSUBI_CHECK(answer.end.verdict == twin_is_made);
}

}  // namespace musubi::coherence::migrating
