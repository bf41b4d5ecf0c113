#include "global_pages/sharer_slots.h"

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::global_pages {

SharerSlots::SharerSlots(fabric::Fabric& fabric, const SlotPlace& place, Hooks hooks)
    : fabric_(fabric), place_(place), hooks_(hooks) {
  MUSUBI_CHECK(place.count != 0);
}

std::optional<Where> SharerSlots::begin(std::uint64_t key, Access access) noexcept {
  Slot& slot = slot_of(key);
  if (shared(slot.page).load(std::memory_order_relaxed) != key) return std::nullopt;
  const Where where{shared(slot.where.word).load(std::memory_order_acquire)};
  std::uint64_t& count = count_of(slot, access, where);
  shared(count).fetch_add(1);
  const bool is_here = shared(slot.page).load() == key;
  // A write may use a newer place than the one read first, and reads it again.
  if (access == Access::write) {
    if (is_here && !is_mover(shared(slot.lock).load())) return Where{shared(slot.where.word).load()};
  } else if (is_here && shared(slot.where.word).load() == where.word) {
    return where;
  }
  shared(count).fetch_sub(1, std::memory_order_release);
  return std::nullopt;
}

void SharerSlots::end(std::uint64_t key, Access access, Where where) noexcept {
  std::uint64_t& count = count_of(slot_of(key), access, where);
  shared(count).fetch_sub(1, std::memory_order_release);
}

bool SharerSlots::is_suspended(const Page& page) const noexcept {
  Slot& slot = slot_of(page.key);
  return shared(slot.page).load() == page.key && is_mover(shared(slot.lock).load());
}

Task<std::uint64_t> SharerSlots::change_lock(const Page& page, std::uint64_t from, std::uint64_t to) {
  std::uint64_t found = from;
  if (place_.by_processor) {
    shared(slot_of(page.key).lock).compare_exchange_strong(found, to);
    co_return found;
  }
  const fabric::Step step =
      fabric::compare_swap(place_.region, offset_of(page) + offsetof(Slot, lock), &found, from, to);
  co_await fabric::transfer(fabric_, fabric_.self(), std::span{&step, 1});
  co_return found;
}

Task<bool> SharerSlots::take(Page page) {
  for (unsigned attempt = 0; co_await change_lock(page, unlocked, fetching) != unlocked; ++attempt) {
    co_await pause(attempt);
  }
  Slot& slot = slot_of(page.key);
  if (shared(slot.page).load() == page.key) {
    co_await change_lock(page, fetching, unlocked);
    co_return false;
  }
  shared(slot.page).store(0);
  for (unsigned attempt = 0;
       shared(slot.writes).load() + shared(slot.reads[0]).load() + shared(slot.reads[1]).load() != 0;
       ++attempt) {
    co_await pause(attempt);
  }
  co_return true;
}

Task<> SharerSlots::give(Page page, Where where, Access access) {
  Slot& slot = slot_of(page.key);
  shared(slot.where.word).store(where.word);
  shared(count_of(slot, access, where)).fetch_add(1);
  shared(slot.page).store(page.key);
  co_await change_lock(page, fetching, unlocked);
}

Task<> SharerSlots::give_empty(Page page) {
  co_await change_lock(page, fetching, unlocked);
}

}  // namespace musubi::global_pages
