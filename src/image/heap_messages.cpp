#include "image/heap_messages.h"

#include "omp/thread.h"

namespace musubi::image {

void HeapMessages::release(Rank owner, std::uintptr_t address) noexcept {
  std::array<Unsent, unsent_max> full;
  lock_.lock();
  unsent_[unsent_count_++] = {owner, address};
  const bool is_full = unsent_count_ == unsent_max;
  if (is_full) {
    full = unsent_;
    unsent_count_ = 0;
  }
  lock_.unlock();
  if (!is_full) return;
  omp::note_frame(__builtin_frame_address(0));
  runtime_.release();
  for (const Unsent& free : full) runtime_.send_free(free.owner, free.address);
}

std::size_t HeapMessages::usable_bytes(Rank owner, std::uintptr_t address) noexcept {
  return runtime_.query_size(owner, address);
}

void HeapMessages::take_back() noexcept {
  std::vector<std::uintptr_t> ready;
  lock_.lock();
  ready.swap(waiting_);
  waiting_bytes_ = 0;
  lock_.unlock();
  if (ready.empty()) return;
  omp::note_frame(__builtin_frame_address(0));
  runtime_.acquire();
  for (const std::uintptr_t address : ready) heap_.release_own(address);
}

void HeapMessages::on_free(Rank, std::uintptr_t address) noexcept {
  const std::size_t bytes = heap_.own_usable_bytes(address);
  lock_.lock();
  waiting_.push_back(address);
  waiting_bytes_ += bytes;
  const bool due = waiting_.size() >= waiting_count_max || waiting_bytes_ >= waiting_bytes_max;
  lock_.unlock();
  if (due) heap_.request_take_back();
}

std::size_t HeapMessages::on_size_query(std::uintptr_t address) noexcept {
  return heap_.own_usable_bytes(address);
}

}  // namespace musubi::image
