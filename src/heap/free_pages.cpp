#include "heap/free_pages.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/thread_safety.h"

namespace musubi::heap {
namespace {

constexpr std::size_t bits = 64;
constexpr std::size_t pages_between_looks = (std::size_t{8} << 20) / 4096;

// Calls function(word, mask) for each word that holds bits of [first, end).
template <class Function>
void for_each_word(std::size_t first, std::size_t end, Function function) {
  while (first < end) {
    const std::size_t last = std::min(end, (first / bits + 1) * bits);
    const std::uint64_t ones = ~std::uint64_t{0} >> (bits - (last - first));
    function(first / bits, ones << first % bits);
    first = last;
  }
}

}  // namespace

FreePages::FreePages(std::uintptr_t base, std::size_t bytes, std::size_t block_bytes, std::uint32_t ranks)
    : base_(base),
      block_pages_(block_bytes / page),
      ranks_(ranks),
      free_(bytes / page / pages_per_word + 1),
      old_(bytes / page / pages_per_word + 1),
      seen_(bytes / page / pages_per_word + 1),
      stale_(bytes / page / pages_per_word + 1) {
  MUSUBI_CHECK(base % page == 0 && bytes % page == 0 && std::has_single_bit(block_bytes) &&
               block_bytes >= page && ranks > 0);
}

FreePages::Pages FreePages::pages_of(std::uintptr_t address, std::size_t bytes) const noexcept {
  MUSUBI_CHECK(address % page == 0 && bytes % page == 0, "0x%zx and %zu bytes are no pages", address, bytes);
  const std::size_t first = (address - base_) / page;
  return {first, first + bytes / page};
}

void FreePages::add(std::uintptr_t address, std::size_t bytes, std::uint64_t now_ns) noexcept {
  const Pages pages = pages_of(address, bytes);
  const Held hold(lock_);
  set(free_, pages);
  unset(old_, pages);
  unset(seen_, pages);
  set(stale_, pages);
  kept_.fetch_add(pages.count(), std::memory_order_relaxed);
  in_use_ -= pages.count();
  look_at_clock(now_ns);
  set_due();
}

void FreePages::take(std::uintptr_t address, std::size_t bytes, std::uint64_t now_ns) noexcept {
  const Pages pages = pages_of(address, bytes);
  lock_.lock();
  while (leaving_.first < pages.end && pages.first < leaving_.end) {
    lock_.unlock();
    ::sched_yield();
    lock_.lock();
  }
  kept_.fetch_sub(unset(free_, pages), std::memory_order_relaxed);
  in_use_ += pages.count();
  most_in_use_ = std::max(most_in_use_, in_use_);
  if (pages.end > end_.load(std::memory_order_relaxed)) end_.store(pages.end, std::memory_order_relaxed);
  look_at_clock(now_ns);
  lock_.unlock();
}

void FreePages::clear(std::uintptr_t address, std::size_t bytes, PageReleaser& giver) noexcept {
  const Pages pages = pages_of(address, bytes);
  const auto is_stale = [this](std::size_t number) {
    const std::uint64_t word = std::atomic_ref(stale_[number / bits]).load(std::memory_order_relaxed);
    return (word >> number % bits & 1) != 0;
  };
  const auto store = [this](std::size_t first, std::size_t end) {
    std::memset(reinterpret_cast<void*>(address_of(first)), 0, (end - first) * page);
  };
  for (std::size_t first = pages.first; first < pages.end;) {
    if (!is_stale(first)) {
      const bool word_is_fresh = std::atomic_ref(stale_[first / bits]).load(std::memory_order_relaxed) == 0;
      first = word_is_fresh ? (first / bits + 1) * bits : first + 1;
      continue;
    }
    std::size_t end = first + 1;
    while (end < pages.end && is_stale(end)) ++end;
    const std::size_t block = (first + block_pages_ - 1) / block_pages_ * block_pages_;
    const std::size_t blocks_end = std::max(block, end / block_pages_ * block_pages_);
    if (blocks_end - block >= cleared_by_giving_pages &&
        giver.give_back(address_of(block), (blocks_end - block) * page)) {
      store(first, block);
      store(blocks_end, end);
    } else {
      store(first, end);
    }
    first = end;
  }
}

// Once per age: the next give_back() returns pages that have been free since the last time.
void FreePages::look_at_clock(std::uint64_t now_ns) noexcept {
  if (now_ns - aged_at_ns_ < age_ns) return;
  aged_at_ns_ = now_ns;
  most_in_use_before_ = std::exchange(most_in_use_, in_use_);
  is_aging_due_ = true;
  set_due();
}

std::size_t FreePages::pages_allowed() const noexcept {
  return std::max(kept_bytes_min / page, std::max(most_in_use_, most_in_use_before_) / (2 * ranks_));
}

// Free pages between used pieces may stay above the allowance; another scan soon after would be useless.
void FreePages::set_due() noexcept {
  const std::size_t kept = kept_.load(std::memory_order_relaxed);
  left_ = std::min(left_, kept);
  const bool due = is_aging_due_ || kept > std::max(pages_allowed(), left_ + pages_between_looks);
  if (due != is_due()) due_.store(due, std::memory_order_relaxed);
}

// Words of stale pages are read without the lock.
void FreePages::set(Words& words, Pages pages) noexcept {
  for_each_word(pages.first, pages.end, [&](std::size_t word, std::uint64_t mask) {
    std::atomic_ref(words[word]).fetch_or(mask, std::memory_order_relaxed);
  });
}

// Result: the number of bits that were set.
std::size_t FreePages::unset(Words& words, Pages pages) noexcept {
  std::size_t count = 0;
  for_each_word(pages.first, pages.end, [&](std::size_t word, std::uint64_t mask) {
    const std::uint64_t before = std::atomic_ref(words[word]).fetch_and(~mask, std::memory_order_relaxed);
    count += static_cast<std::size_t>(std::popcount(before & mask));
  });
  return count;
}

bool FreePages::is_all(const Words& words, Pages pages) noexcept {
  bool all = true;
  for_each_word(pages.first, pages.end,
                [&](std::size_t word, std::uint64_t mask) { all = all && (words[word] & mask) == mask; });
  return all;
}

bool FreePages::goes(const Words& free, const Words* marked, Pages block) noexcept {
  return is_all(free, block) && (marked == nullptr || is_all(*marked, block));
}

std::size_t FreePages::end_of_blocks() const noexcept {
  return (end_.load(std::memory_order_relaxed) + block_pages_ - 1) / block_pages_ * block_pages_;
}

FreePages::Pages FreePages::next_to_go(std::size_t end, const Words* marked, std::size_t most) noexcept {
  while (end != 0) {
    if (end % bits == 0 && free_[end / bits - 1] == 0 && block_pages_ <= bits) {
      end -= bits;
      continue;
    }
    Pages going{end - block_pages_, end};
    end = going.first;
    if (!goes(free_, marked, going)) continue;
    while (going.first != 0 && going.count() + block_pages_ <= most &&
           goes(free_, marked, {going.first - block_pages_, going.first})) {
      going.first -= block_pages_;
    }
    kept_.fetch_sub(unset(free_, going), std::memory_order_relaxed);
    return going;
  }
  return {0, 0};
}

// take() waits for these pages.
void FreePages::give_back(Pages going, PageReleaser& giver) noexcept {
  leaving_ = going;
  lock_.unlock();
  const bool gone = giver.give_back(address_of(going.first), going.count() * page);
  lock_.lock();
  leaving_ = {0, 0};
  if (gone) unset(stale_, going);
}

void FreePages::give_back_old(PageReleaser& giver) noexcept {
  Pages going{end_of_blocks(), 0};
  while (true) {
    going = next_to_go(going.first, &old_, given_pages_max);
    if (going.count() == 0) return;
    give_back(going, giver);
  }
}

// High addresses first, because low ones are used first.
void FreePages::give_back_more(PageReleaser& giver, const Words* marked) noexcept {
  Pages going{end_of_blocks(), 0};
  while (is_over()) {
    const std::size_t excess = kept_.load(std::memory_order_relaxed) - pages_allowed();
    going = next_to_go(going.first, marked, std::min(excess, given_pages_max));
    if (going.count() == 0) return;
    give_back(going, giver);
  }
}

void FreePages::mark_free(Words& words) noexcept {
  for (std::size_t word = 0; word <= end_of_blocks() / bits; ++word) {
    if (words[word] != free_[word]) words[word] = free_[word];
  }
}

void FreePages::give_back(PageReleaser& giver) noexcept {
  lock_.lock();
  if (!std::exchange(is_giving_, true)) {
    if (std::exchange(is_aging_due_, false)) {
      give_back_old(giver);
      mark_free(old_);
    }
    give_back_more(giver, &seen_);
    give_back_more(giver, nullptr);
    mark_free(seen_);
    is_giving_ = false;
    left_ = kept_.load(std::memory_order_relaxed);
    due_.store(false, std::memory_order_relaxed);
  }
  lock_.unlock();
}

void FreePages::forget_threads() noexcept {
  new (&lock_) SpinLock;
  const Held hold(lock_);
  leaving_ = {0, 0};
  is_giving_ = false;
}

}  // namespace musubi::heap
