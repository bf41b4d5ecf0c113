#include "coherence/migrating/operators.h"

#include <bit>

#include "coherence/regions.h"

namespace musubi::coherence::migrating {
namespace {

// Threads have stacks of their own, so they begin to look at different places.
unsigned first_place_of_thread() noexcept {
  const char here = 0;
  const auto stack = reinterpret_cast<std::uintptr_t>(&here) >> 16;
  return static_cast<unsigned>(stack * UINT64_C(0x9e3779b97f4a7c15) >> 32) % OperatorLayout::places;
}

}  // namespace

std::uint64_t* Operators::word_of(Rank rank, std::uint64_t offset) const noexcept {
  std::byte* const region = fabric_.direct(rank, words_region);
  return region == nullptr ? nullptr : reinterpret_cast<std::uint64_t*>(region + offset);
}

// The compare-and-swap is a fence: what the thread looks at next is looked at after it.
std::uint64_t* Operators::announce(BlockId block) const noexcept {
  const unsigned first = first_place_of_thread();
  const std::atomic_ref used(*word_of(fabric_.self(), layout_.used()));
  for (unsigned i = 0; i < OperatorLayout::places; ++i) {
    const unsigned place = (first + i) % OperatorLayout::places;
    std::uint64_t* const word = word_of(fabric_.self(), layout_.place(place));
    std::uint64_t none = 0;
    const std::uint64_t bit = std::uint64_t{1} << place;
    if ((used.load() & bit) == 0) used.fetch_or(bit);
    if (std::atomic_ref(*word).compare_exchange_strong(none, block.value + 1)) return word;
  }
  return nullptr;
}

bool Operators::is_announced(Rank rank, BlockId block) const noexcept {
  hooks_.touch();
  std::uint64_t* const used = word_of(rank, layout_.used());
  if (used == nullptr) return false;
  for (std::uint64_t left = std::atomic_ref(*used).load(); left != 0; left &= left - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(left));
    if (std::atomic_ref(*word_of(rank, layout_.place(place))).load() == block.value + 1) return true;
  }
  return false;
}

bool Operators::some_at(BlockId block) const noexcept {
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    if (is_announced(Rank{rank}, block)) return true;
  }
  return false;
}

Task<> Operators::end_at(BlockId block) const {
  for (unsigned attempt = 0; some_at(block); ++attempt) co_await pause(attempt);
}

Task<> Operators::end() const {
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) co_await end_of(Rank{rank});
}

Task<> Operators::end_of(Rank rank) const {
  std::uint64_t* const used = word_of(rank, layout_.used());
  if (used == nullptr) co_return;
  for (std::uint64_t left = std::atomic_ref(*used).load(); left != 0; left &= left - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(left));
    const std::atomic_ref word(*word_of(rank, layout_.place(place)));
    const std::uint64_t seen = word.load();
    for (unsigned attempt = 0; seen != 0 && word.load() == seen; ++attempt) co_await pause(attempt);
  }
}

}  // namespace musubi::coherence::migrating
