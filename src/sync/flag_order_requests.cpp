// Requests for releases: fetch the writes of another rank's threads while these make no calls.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "coherence/core/block_words.h"
#include "coherence/regions.h"
#include "fabric/transfer.h"
#include "sync/flag_order.h"

namespace musubi::sync {
namespace {

using coherence::control_region;

constexpr std::uint64_t first_credit = 8, credit_max = 64;  // barriers

}  // namespace

Task<> FlagOrder::settle() {
  auto pass = co_await change_gate_.enter();
  if (!must_settle()) co_return;
  ordering_.set_ordered(true);
  co_await ordering_.end_of_unordered();
  settled_.store(++entries_);
}

// A thread that finds it in use from here on settles first, and waits at the gate.
Task<> FlagOrder::end_if_unused() {
  auto pass = co_await change_gate_.enter();
  const std::uint64_t entry = settled_.exchange(0);
  if (in_use()) {
    settled_.store(entry);
  } else {
    ordering_.set_ordered(false);
  }
}

// A rank that answers has settled before, or is at a barrier and settles after it.
Task<> FlagOrder::others_settle() {
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    if (bell_ == nullptr || Rank{rank} == fabric_.self()) continue;
    const std::uint64_t number = co_await request(Rank{rank});
    co_await await_answer(Rank{rank}, number);
  }
}

Task<> FlagOrder::await_answer(Rank peer, std::uint64_t request) {
  for (unsigned look = 0; look < looks_max; ++look) {
    const bool is_done = co_await has_answered(peer, request);
    if (is_done) break;
    co_await pause(look);
  }
}

Task<> FlagOrder::keep_in_use() {
  const std::uint64_t left = word(credit).load();
  if (left != 0 && left > credit_given_ / 2) co_return;
  credit_given_ = credit_given_ == 0 ? first_credit : std::min(credit_max, 2 * credit_given_);
  co_await give_credit(credit_given_);
}

Task<> FlagOrder::pass_credit_on() {
  const std::uint64_t left = word(credit).load();
  if (left != 0 && assured() == 0) co_await give_credit(left);
}

// Result: the number of the request.
Task<std::uint64_t> FlagOrder::count_request(Rank peer) {
  MUSUBI_CHECK(peer.value < fabric_.ranks());
  std::uint64_t before = 0;
  std::array<fabric::Step, 1> step{fabric::fetch_add(control_region, offset_of(asked), &before, 1)};
  co_await fabric::transfer(fabric_, peer, step);
  co_return before + 1;
}

Task<std::uint64_t> FlagOrder::request(Rank peer) {
  MUSUBI_CHECK(bell_ != nullptr);
  MUSUBI_CHECK(bell_ != nullptr, "no thread answers requests");
  const std::uint64_t number = co_await count_request(peer);
  (void)bell_->ring(peer);
  co_return number;
}

// A thread waits for the answer: retries until the bell has rung.
Task<> FlagOrder::request_release(Rank peer) {
  MUSUBI_CHECK(bell_ != nullptr && peer.value < fabric_.ranks());
  MUSUBI_CHECK(bell_ != nullptr && peer != fabric_.self());
  (void)co_await count_request(peer);
  for (unsigned attempt = 0; !bell_->ring(peer); ++attempt) co_await pause(attempt);
}

Task<bool> FlagOrder::has_answered(Rank peer, std::uint64_t request) {
  MUSUBI_CHECK(peer.value < fabric_.ranks());
  std::uint64_t newest = 0;
  std::array<fabric::Step, 1> step{fabric::get(control_region, offset_of(answered), &newest, sizeof newest)};
  co_await fabric::transfer(fabric_, peer, step);
  co_return newest >= request;
}

Task<> FlagOrder::ask_all() {
  const std::uint64_t entry = settled();
  const bool is_assured = assured() != 0;  // a rank without credit answers, too, but keeps no order
  co_await request_releases();
  for (unsigned look = 0;; ++look) {
    const bool all_have = co_await have_answered(look);
    if (all_have) break;
    co_await answer(true);
    co_await pause(look);
  }
  if (is_assured) others_settled_in_.store(entry);
}

Task<> FlagOrder::request_releases() {
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    if (bell_ != nullptr && Rank{rank} != fabric_.self()) requests_[rank] = co_await request(Rank{rank});
  }
}

Task<bool> FlagOrder::have_answered(unsigned look) {
  if (bell_ == nullptr || look >= looks_max) co_return true;
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    if (Rank{rank} == fabric_.self()) continue;
    const bool is_done = co_await has_answered(Rank{rank}, requests_[rank]);
    if (!is_done) co_return false;
  }
  co_return true;
}

Task<std::uint64_t> FlagOrder::request_own_release() {
  if (bell_ == nullptr) co_return 0;
  co_return co_await request(fabric_.self());
}

bool FlagOrder::has_released(std::uint64_t request, unsigned look) const noexcept {
  return word(answered).load() >= request || look >= looks_max;
}

Task<> FlagOrder::nudge() {
  if (bell_ == nullptr) co_return;
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    if (Rank{rank} == fabric_.self()) continue;
    std::array<std::uint64_t, 2> seen{};
    static_assert(answered == asked + 1);
    std::array<fabric::Step, 1> step{fabric::get(control_region, offset_of(asked), seen.data(), sizeof seen)};
    co_await fabric::transfer(fabric_, Rank{rank}, step);
    if (seen[0] <= seen[1]) (void)co_await request(Rank{rank});
  }
}

std::uint64_t FlagOrder::unanswered() const noexcept {
  const std::uint64_t newest = word(asked).load();
  return newest != word(answered).load() ? newest : 0;
}

Task<> FlagOrder::answer(bool siblings) {
  const std::uint64_t request = unanswered();
  if (request == 0) co_return;
  const LockTable::Kept kept = kept_locks();
  const bool was_alone = is_alone();
  if (!hooks_.injected(InjectedBug::alone_beside_others)) co_await end_alone();
  co_await settle();
  announce();
  if (!hooks_.injected(InjectedBug::answered_without_release)) co_await release_all(siblings);
  note_end();
  co_await note_answer(request, kept);
  if (!was_alone) co_return;
  auto pass = co_await change_gate_.enter();  // the request may have come from a rank that is no guest
  be_alone_if_possible();
}

Task<> FlagOrder::note_answer(std::uint64_t request, LockTable::Kept kept) {
  MUSUBI_CHECK(word(answered).load() <= request && request <= word(asked).load());
  word(answered).store(request);
  if (locks_ == nullptr) co_return;
  const bool all_served = co_await locks_->give(kept);
  if (!all_served) wake_background();
}

}  // namespace musubi::sync
