#include "global_pages/directory.h"

#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <span>

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::global_pages {
namespace {

enum class Wish : std::uint64_t { share, look, take, give };

struct Question {
  Wish wish;
  std::uint64_t entry_at;
  Where now;  // for give; the bits of `gone` ranks follow
};
struct Answer {
  std::uint64_t is_moving;
  Where where;  // in an answer to take the bits of the sharers follow
};
static_assert(sizeof(Question) <= 32 && sizeof(Answer) <= 32);

// A message with bits after its head.
template <class Head>
struct Packed {
  Packed(const Head& head, std::size_t words) : bytes(sizeof head + words * 8) {
    std::memcpy(bytes.data(), &head, sizeof head);
  }
  std::byte* bits() { return bytes.data() + sizeof(Head); }

  std::vector<std::byte> bytes;
};

std::size_t words_for(std::uint32_t ranks) {
  return (ranks + 63) / 64;
}

}  // namespace

std::size_t HomeService::serve(Rank asker, std::span<const std::byte> question,
                               std::span<std::byte> answer) noexcept {
  Question asked;
  MUSUBI_CHECK(question.size() >= sizeof asked);
  std::memcpy(&asked, question.data(), sizeof asked);
  auto& entry = *reinterpret_cast<Entry*>(own_ + asked.entry_at);
  auto* const sharers = reinterpret_cast<std::uint64_t*>(own_ + asked.entry_at + sizeof(Entry));
  const std::size_t bits = words_for(ranks_) * 8;
  lock_.lock();
  Answer told{entry.mover != unlocked, entry.where};
  std::size_t bytes = sizeof told;
  const bool may_move = told.is_moving == 0 || hooks_.injected(InjectedBug::page_taken_twice);
  if (asked.wish == Wish::share && told.is_moving == 0 &&
      !hooks_.injected(InjectedBug::page_sharer_not_told)) {
    sharers[asker.value / 64] |= std::uint64_t{1} << asker.value % 64;
  } else if (asked.wish == Wish::take && may_move) {
    entry.mover = mark_of(asker);
    told.is_moving = 0;
    std::memcpy(answer.data() + sizeof told, sharers, bits);
    bytes += bits;
  } else if (asked.wish == Wish::give) {
    MUSUBI_CHECK(question.size() == sizeof asked + bits);
    for (std::size_t i = 0; i < words_for(ranks_); ++i) {
      std::uint64_t gone = 0;
      std::memcpy(&gone, question.data() + sizeof asked + i * 8, sizeof gone);
      sharers[i] &= ~gone;
    }
    entry.where = asked.now;
    entry.mover = unlocked;
  }
  lock_.unlock();
  std::memcpy(answer.data(), &told, sizeof told);
  return bytes;
}

Task<std::optional<Where>> HomeDirectory::share(Page page) {
  const Question question{Wish::share, page.entry_at, {}};
  Answer answer{};
  co_await calls_.ask(page.home, std::as_bytes(std::span{&question, 1}),
                      std::as_writable_bytes(std::span{&answer, 1}));
  if (answer.is_moving != 0) co_return std::nullopt;
  co_return answer.where;
}

Task<Where> HomeDirectory::look(Page page) {
  const Question question{Wish::look, page.entry_at, {}};
  Answer answer{};
  co_await calls_.ask(page.home, std::as_bytes(std::span{&question, 1}),
                      std::as_writable_bytes(std::span{&answer, 1}));
  co_return answer.where;
}

Task<LockedEntry> HomeDirectory::take(Page page) {
  const Question question{Wish::take, page.entry_at, {}};
  Packed<Answer> answer({}, words_for(ranks_));
  LockedEntry taken;
  taken.sharers.resize(words_for(ranks_));
  for (unsigned attempt = 0;; ++attempt) {
    co_await calls_.ask(page.home, std::as_bytes(std::span{&question, 1}), answer.bytes);
    Answer head;
    std::memcpy(&head, answer.bytes.data(), sizeof head);
    taken.where = head.where;
    if (head.is_moving == 0) break;
    co_await pause(attempt);
  }
  std::memcpy(taken.sharers.data(), answer.bits(), taken.sharers.size() * 8);
  co_return taken;
}

Task<> HomeDirectory::give(Page page, const LockedEntry*, Where now, const std::vector<Rank>* gone) {
  Packed<Question> question({Wish::give, page.entry_at, now}, words_for(ranks_));
  std::vector<std::uint64_t> bits(words_for(ranks_));
  for (const Rank rank : *gone) bits[rank.value / 64] |= std::uint64_t{1} << rank.value % 64;
  std::memcpy(question.bits(), bits.data(), bits.size() * 8);
  Answer answer{};
  co_await calls_.ask(page.home, question.bytes, std::as_writable_bytes(std::span{&answer, 1}));
}

using fabric::Step;

Task<Where> OneSidedDirectory::look(Page page) {
  Where where;
  const Step step = fabric::get(region_, page.entry_at + offsetof(Entry, where), &where, sizeof where);
  co_await fabric::transfer(fabric_, page.home, std::span{&step, 1});
  co_return where;
}

// A mover takes the entry first, then reads the sharers, then their slots. This rank holds its slot, so a
// mover that knows it as a sharer waits. This rank reads the mover's mark before its own bit, and again after
// it has set the bit, so it notices a mover that does not know it.
Task<std::optional<Where>> OneSidedDirectory::share(Page page) {
  const std::uint64_t sharers = sharers_at(page) + fabric_.self().value / 64 * 8;
  const std::uint64_t bit = std::uint64_t{1} << fabric_.self().value % 64;
  std::uint64_t mover = 0, seen = 0;
  Where where;
  std::array<Step, 3> looks{
      fabric::get(region_, page.entry_at, &mover, sizeof mover),
      fabric::get(region_, sharers, &seen, sizeof seen),
      fabric::get(region_, page.entry_at + offsetof(Entry, where), &where, sizeof where)};
  co_await fabric::transfer(fabric_, page.home, looks);
  while (mover == unlocked && (seen & bit) == 0) {
    if (hooks_.injected(InjectedBug::page_sharer_not_told)) break;
    const std::uint64_t expected = seen;
    const std::array<Step, 3> joins{fabric::compare_swap(region_, sharers, &seen, expected, expected | bit),
                                    looks[0], looks[2]};
    co_await fabric::transfer(fabric_, page.home, joins);
    if (seen == expected) seen |= bit;
  }
  if (mover != unlocked) co_return std::nullopt;
  co_return where;
}

Task<LockedEntry> OneSidedDirectory::take(Page page) {
  LockedEntry taken;
  taken.sharers.resize((fabric_.ranks() + 63) / 64);
  std::uint64_t mover = unlocked;
  const std::array<Step, 3> steps{
      fabric::compare_swap(region_, page.entry_at, &mover, unlocked, mark_of(fabric_.self())),
      fabric::get(region_, page.entry_at + offsetof(Entry, where), &taken.where, sizeof taken.where),
      fabric::get(region_, sharers_at(page), taken.sharers.data(), taken.sharers.size() * 8)};
  for (unsigned attempt = 0;; ++attempt) {
    co_await fabric::transfer(fabric_, page.home, steps);
    if (mover == unlocked) co_return taken;
    co_await pause(attempt);
  }
}

// Ranks whose slot had another page stop being sharers, unless another rank became a sharer in the same word
// in the meantime: then their bits stay, and cost the next mover a read.
Task<> OneSidedDirectory::give(Page page, const LockedEntry* taken, Where now,
                               const std::vector<Rank>* gone) {
  std::vector<std::uint64_t> left = taken->sharers, seen(left.size());
  for (const Rank rank : *gone) left[rank.value / 64] &= ~(std::uint64_t{1} << rank.value % 64);
  std::vector<Step> steps;
  if (now != taken->where)
    steps.push_back(fabric::put(region_, page.entry_at + offsetof(Entry, where), &now, sizeof now));
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == taken->sharers[i]) continue;
    steps.push_back(
        fabric::compare_swap(region_, sharers_at(page) + i * 8, &seen[i], taken->sharers[i], left[i]));
  }
  const std::uint64_t at_rest = unlocked;
  steps.push_back(fabric::put(region_, page.entry_at, &at_rest, sizeof at_rest));
  co_await fabric::transfer(fabric_, page.home, steps);
}

}  // namespace musubi::global_pages
