#include "sync/flag_order.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/task_group.h"
#include "coherence/core/block_words.h"
#include "coherence/regions.h"
#include "fabric/transfer.h"

namespace musubi::sync {
namespace {

using coherence::control_region;

// Other ranks may change a block each time it is fetched.
constexpr unsigned openings_max = 64;
constexpr std::size_t acquires_at_once_max = 16;  // each has a buffer for a signature
constexpr unsigned acquires_max = 16, acquires_in_place_max = 4;

// Announces a release before any other rank can see the block.
template <class Announce>
class AnnouncedModification final : public coherence::Modification {
 public:
  AnnouncedModification(coherence::Modification& modification, Announce announce)
      : modification_(modification), announce_(announce) {
    operation = modification.operation;
    witness = modification.witness;
    offset = modification.offset;
    bytes = modification.bytes;
  }
  void found(AtomicValue old) noexcept override { modification_.found(old); }
  void apply(std::byte* block) noexcept override {
    if (takes_writes_along) announce_();
    modification_.apply(block);
  }

 private:
  coherence::Modification& modification_;
  Announce announce_;
};

// During its life blocks are updated in place although their pages are open, unless sibling threads would see
// that.
class QuiescentScope {
 public:
  QuiescentScope(coherence::Ordering& ordering, bool siblings) : ordering_(ordering), stands_(!siblings) {
    if (stands_) ordering_.set_quiescent(true);
  }
  ~QuiescentScope() {
    if (stands_) ordering_.set_quiescent(false);
  }
  QuiescentScope(const QuiescentScope&) = delete;

 private:
  coherence::Ordering& ordering_;
  bool stands_;
};

}  // namespace

FlagOrder::FlagOrder(fabric::Fabric& fabric, coherence::Protocol& protocol, Clock& clock, std::byte* own,
                     std::uint64_t offset, std::uint64_t signature_offset, std::size_t notices_max,
                     Hooks hooks)
    : fabric_(fabric),
      protocol_(protocol),
      ordering_(protocol.ordering()),
      clock_(clock),
      own_(reinterpret_cast<std::uint64_t*>(own)),
      offset_(offset),
      signatures_(fabric, protocol, signature_offset, notices_max, hooks),
      acquired_(new std::atomic<std::uint64_t>[fabric.ranks()] {}),
      hooks_(hooks),
      requests_(new std::uint64_t[fabric.ranks()]{}) {}

void FlagOrder::expect() noexcept {
  word(credit).store(barriers_without_flush);
  assured_until_.store(barriers_without_flush);
  credit_given_ = barriers_without_flush;
  ordering_.set_ordered(true);
  settled_.store(++entries_);
  others_settled_in_.store(settled());
}

// All ranks pass the same barriers, so that credit which all have had here once runs out on all at once.
Task<> FlagOrder::renew() {
  if (!is_due_to_renew()) co_return;
  if (assured() < low_credit) co_await give_credit(barriers_without_flush);
  co_await settle();
  const std::uint64_t entry = settled();
  if (others_settled_in_.load() == entry) co_return;
  co_await others_settle();
  others_settled_in_.store(entry);
}

Task<> FlagOrder::give_credit(std::uint64_t barriers) {
  MUSUBI_CHECK(barriers != 0);
  const std::uint64_t until = barriers_.load() + barriers;
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    std::uint64_t expected = 0;
    for (;;) {
      std::uint64_t found = 0;
      std::array<fabric::Step, 1> step{
          fabric::compare_swap(control_region, offset_of(credit), &found, expected, barriers)};
      co_await fabric::transfer(fabric_, Rank{rank}, step);
      if (found == expected || found >= barriers) break;
      expected = found;
    }
  }
  std::uint64_t known = assured_until_.load();
  while (known < until && !assured_until_.compare_exchange_weak(known, until)) {
  }
}

// With siblings, while order is kept, also releases their concurrent writes, as of one moment.
Task<> FlagOrder::release_all(bool siblings) {
  co_await protocol_.release(coherence::Scope::everything(), false);
  if (siblings && in_use()) co_await ordering_.release_as_of_now();
}

Task<> FlagOrder::release_announced(bool siblings) {
  announce();
  co_await release_all(siblings);
  note_end();
}

// REQUIRES: change_gate_ is held. A guest is either seen here, or its request, answered later, ends the lone
// state. Without a background no thread would answer.
void FlagOrder::be_alone_if_possible() noexcept {
  const bool has_guests = word(guests).load() != guests_before_barrier_.load() &&
                          !hooks_.injected(InjectedBug::alone_beside_guests);
  if (in_serial_part_.load() && !has_guests && !ordering_.holds_back()) ordering_.set_alone(true);
}

bool FlagOrder::begin_alone_at_once() noexcept {
  if (bell_ == nullptr) return true;
  MUSUBI_CHECK(fabric_.self() == Rank{0});
  in_serial_part_.store(true);
  const auto pass = change_gate_.try_enter();
  if (pass) be_alone_if_possible();
  return pass.has_value();
}

Task<> FlagOrder::begin_alone() {
  if (begin_alone_at_once()) co_return;
  auto pass = co_await change_gate_.enter();
  be_alone_if_possible();
}

// When it ends, earlier operations have ended, and no block is opened out of order any more.
Task<> FlagOrder::end_alone() {
  auto pass = co_await change_gate_.enter();
  if (!is_alone() || hooks_.injected(InjectedBug::alone_in_regions)) co_return;
  ordering_.set_alone(false);
  co_await ordering_.end_of_unordered();
}

Task<> FlagOrder::join_lone_rank() {
  if (bell_ == nullptr || hooks_.injected(InjectedBug::lone_rank_not_told)) co_return;
  MUSUBI_CHECK(fabric_.self() != Rank{0});
  std::uint64_t before = 0;
  std::array<fabric::Step, 1> step{fabric::fetch_add(control_region, offset_of(guests), &before, 1)};
  co_await fabric::transfer(fabric_, Rank{0}, step);
  const std::uint64_t number = co_await request(Rank{0});
  co_await await_answer(Rank{0}, number);
  co_await acquire_in_order();
}

Task<> FlagOrder::release(Channel channel, bool siblings) {
  if (is_alone()) co_return;
  if (must_settle()) co_await settle();
  const QuiescentScope quiescent(ordering_, siblings);
  co_await release_announced(siblings);
  co_await clock_.raise(channel);
  if (!siblings) co_await acquire_shown_changes();
}

Task<> FlagOrder::flush(bool siblings) {
  if (is_alone()) co_return;
  if (must_settle()) co_await settle();
  const QuiescentScope quiescent(ordering_, siblings);
  co_await release_announced(siblings);
  co_await acquire_in_order();
}

Task<> FlagOrder::hand_over(Task<> unlock, bool siblings) {
  if (must_settle()) co_await settle();
  const QuiescentScope quiescent(ordering_, siblings);
  announce();
  co_await std::move(unlock);
  if (in_use()) co_await release_all(siblings);
  note_end();
  if (!siblings) co_await acquire_shown_changes();
}

// Ordered as an atomic instruction of a processor: a thread that sees the operation sees all earlier writes
// of this rank, which in turn sees all writes made before the value that it finds. Concurrent writes of
// sibling threads may be published with the block, so a release follows. Only an operation followed by a
// release is announced as one: otherwise its end would be taken for the end of that release.
Task<> FlagOrder::modify(BlockId block, coherence::Modification& modification, bool siblings) {
  while (is_alone()) {
    if (protocol_.modify_at_once(block, modification)) co_return;
    const bool opened = co_await protocol_.fault(block, vm::Access::write);
    if (!opened) break;
  }
  if (!in_use() || modification.orders_nothing) co_return co_await protocol_.modify(block, modification);
  if (must_settle()) co_await settle();
  const QuiescentScope quiescent(ordering_, siblings);
  co_await release_announced(siblings);
  AnnouncedModification announced(modification, [this] { announce(); });
  co_await protocol_.modify(block, announced);
  if (announced.takes_writes_along) {
    co_await release_all(siblings);
    note_end();
  }
  co_await acquire_in_order();
}

// Once as many releases have ended as had begun at the first read, those releases, or as many later ones, are
// over. Result: the sequence word of the peer's signature afterwards.
Task<std::uint64_t> FlagOrder::await_releases(Rank peer) {
  std::array<std::uint64_t, 2> seen{};
  std::uint64_t sequence = 0;
  static_assert(finished == begun + 1);
  std::array<fabric::Step, 2> steps{fabric::get(control_region, offset_of(begun), seen.data(), sizeof seen),
                                    signatures_.sequence_step(sequence)};
  co_await fabric::transfer(fabric_, peer, steps);
  const std::uint64_t wanted = seen[0];
  for (unsigned look = 0; seen[1] < wanted && look < looks_max; ++look) {
    co_await pause(look);
    co_await fabric::transfer(fabric_, peer, steps);
  }
  co_return sequence;
}

// Stores the new sequence word only after everything has been acquired, because other threads rely on it.
Task<> FlagOrder::acquire_from(Rank peer) {
  std::atomic<std::uint64_t>& acquired = acquired_[peer.value];
  const std::uint64_t sequence = co_await await_releases(peer);
  if (sequence == acquired.load()) co_return;
  const std::uint64_t now = co_await signatures_.acquire_from(peer, coherence::Audience::unknown_in_order);
  acquired.store(now);
}

Task<> FlagOrder::acquire(bool siblings) {
  if (must_settle()) co_await settle();
  const QuiescentScope quiescent(ordering_, siblings);
  co_await acquire_in_order();
}

Task<> FlagOrder::acquire_in_order() {
  if (is_alone()) co_return;
  // A further acquire covers changes that an acquire itself brought into pages that stay open. Other ranks
  // may have changes each time: after acquires_in_place_max attempts the pages are closed.
  std::uint32_t number = 0;
  for (unsigned attempt = 0; attempt < acquires_max; ++attempt) {
    if (attempt == acquires_in_place_max) ordering_.set_quiescent(false);
    number = ordering_.acquire_begins();
    TaskGroup under_way(acquires_at_once_max);  // so that latencies overlap
    for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
      if (Rank{rank} != fabric_.self()) co_await under_way.admit(acquire_from(Rank{rank}));
    }
    co_await under_way.drain();
    const bool shows_all = co_await ordering_.acquire_ended(number);
    if (shows_all && !ordering_.shows_unordered()) co_return;
  }
  co_await ordering_.show_held_back();
  (void)co_await ordering_.acquire_ended(number);
}

// Runs before the thread for which the pages were changed continues.
Task<> FlagOrder::acquire_shown_changes() {
  if (ordering_.shows_unordered()) co_await acquire_in_order();
}

Task<bool> FlagOrder::fault(BlockId block, coherence::Touch touch, bool siblings) {
  if (must_settle()) co_await settle();
  for (unsigned attempt = 0; attempt < openings_max; ++attempt) {
    const coherence::FaultOutcome outcome = co_await ordering_.fault(block, touch);
    if (outcome != coherence::FaultOutcome::not_in_order) co_return outcome == coherence::FaultOutcome::open;
    co_await acquire(siblings);
  }
  // Other ranks change the block each time. An acquire now would close it again.
  co_return co_await protocol_.fault(block, touch.wanted);
}

Task<> FlagOrder::before_barrier(bool siblings) {
  barriers_.fetch_add(1);
  const std::uint64_t left = word(credit).fetch_sub(1);
  MUSUBI_CHECK(left != 0, "a barrier in order, and order is not in use");
  if (left == 1) co_await end_if_unused();
  const QuiescentScope quiescent(ordering_, siblings);
  co_await release_announced(siblings);
}

// A rank that was asked at the barrier has answered that it had released, but it did so before it kept order,
// and its unpublished blocks would show later writes. The barrier may also have brought more changes into
// open pages than its notices list; no thread has seen them yet.
Task<> FlagOrder::after_barrier(bool siblings) {
  if (must_settle() && !hooks_.injected(InjectedBug::order_not_kept_behind_barrier)) {
    co_await settle();
    const QuiescentScope quiescent(ordering_, siblings);
    co_await release_announced(siblings);
  }
  if (ordering_.holds_back() || ordering_.shows_unordered()) co_await acquire(siblings);
}

}  // namespace musubi::sync
