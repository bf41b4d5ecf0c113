#include "image/heap_messages.h"

#include <span>

#include "omp/thread.h"

namespace musubi::image {

void HeapMessages::release(Rank owner, std::uintptr_t address) noexcept {
  // Only the owner knows the size; small ones are not worth the question.
  const std::size_t bytes = heap_.may_be_large(address) ? runtime_.query_size(owner, address) : 0;
  std::array<Unsent, unsent_max> full;
  std::size_t count = 0;
  lock_.lock();
  unsent_[unsent_count_++] = {owner, address};
  unsent_bytes_ += bytes;
  if (unsent_count_ == unsent_max || unsent_bytes_ >= unsent_bytes_max) {
    full = unsent_;
    count = unsent_count_;
    unsent_count_ = unsent_bytes_ = 0;
  }
  lock_.unlock();
  if (count == 0) return;
  omp::note_frame(__builtin_frame_address(0));
  runtime_.release();
  for (const Unsent& free : std::span(full).first(count)) runtime_.send_free(free.owner, free.address);
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
