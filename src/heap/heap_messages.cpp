#include "heap/heap_messages.h"

#include <span>
#include <utility>

#include "base/check.h"
#include "runtime/api/threads.h"

namespace musubi::heap {
namespace {

// For release and acquire around messages that return memory; one release serves several owners.
constexpr std::uint64_t channel_of_frees = 0xf7ee;

}  // namespace

void HeapMessages::release(Rank owner, std::uintptr_t address, std::size_t bytes) noexcept {
  // Only the owner knows the size of an allocation; for small ones a query is too expensive.
  std::size_t held = bytes;
  if (bytes == 0 && heap_.may_be_large(address)) held = runtime_.messages().query_size(owner, address);
  std::array<Unsent, unsent_max> full;
  std::size_t count = 0;
  MUSUBI_CHECK(owner != runtime_.self() && owner.value < runtime_.ranks(), "gives memory to rank %u",
               owner.value);
  unsent_lock_.lock();
  unsent_[unsent_count_++] = {owner, address, bytes};
  unsent_bytes_ += held;
  if (unsent_count_ == unsent_max || unsent_bytes_ >= unsent_bytes_max) {
    full = unsent_;
    count = unsent_count_;
    unsent_count_ = unsent_bytes_ = 0;
  }
  unsent_lock_.unlock();
  if (count == 0) return;
  runtime::note_stack(__builtin_frame_address(0));
  runtime_.synchronization().release(channel_of_frees);
  for (const Unsent& free : std::span(full).first(count)) {
    runtime_.messages().send_free(free.owner, free.address, free.bytes);
  }
}

std::size_t HeapMessages::usable_bytes(Rank owner, std::uintptr_t address) noexcept {
  return runtime_.messages().query_size(owner, address);
}

void HeapMessages::take_back() noexcept {
  waiting_lock_.lock();
  Waiting* ready = std::exchange(waiting_, nullptr);
  waiting_count_ = 0;
  waiting_bytes_ = 0;
  waiting_lock_.unlock();
  if (ready == nullptr) return;
  runtime::note_stack(__builtin_frame_address(0));
  runtime_.synchronization().acquire(channel_of_frees);
  while (ready != nullptr) {
    release_here(ready->address, ready->bytes);
    delete std::exchange(ready, ready->next);
  }
}

void HeapMessages::release_here(std::uintptr_t address, std::size_t bytes) noexcept {
  if (bytes == 0) {
    heap_.release_own(address);
  } else {
    mapped_.unmap(address, bytes);
  }
}

bool HeapMessages::give_back(std::uintptr_t address, std::size_t bytes) noexcept {
  return runtime_.memory().give_back(address, bytes);
}

// In one memory no acquire is necessary before.
void HeapMessages::on_free(Rank, std::uintptr_t address, std::size_t bytes) noexcept {
  if (runtime_.memory().is_one()) return release_here(address, bytes);
  const std::size_t held = bytes != 0 ? bytes : heap_.own_usable_bytes(address);
  auto* const waiting = new Waiting{address, bytes, nullptr};
  waiting_lock_.lock();
  waiting->next = std::exchange(waiting_, waiting);
  waiting_bytes_ += held;
  const bool due = ++waiting_count_ >= waiting_count_max || waiting_bytes_ >= waiting_bytes_max;
  waiting_lock_.unlock();
  if (due) heap_.request_take_back();
}

// For mappings: unmap() ignores pages that belong to none.
bool HeapMessages::is_own(std::uintptr_t address, std::size_t bytes) const noexcept {
  return bytes == 0 ? heap_.is_own(reinterpret_cast<const void*>(address))
                    : MappedMemory::is_whole_pages(address, bytes);
}

std::size_t HeapMessages::on_size_query(std::uintptr_t address) noexcept {
  return heap_.own_usable_bytes(address);
}

}  // namespace musubi::heap
