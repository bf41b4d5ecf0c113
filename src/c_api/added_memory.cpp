#include "c_api/added_memory.h"

#include <algorithm>

namespace musubi::c_api {
namespace {

std::uintptr_t align(std::uintptr_t address, std::size_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

bool has_same_attributes(const runtime::SegmentRequest& a, const runtime::SegmentRequest& b) {
  return a.block_bytes == b.block_bytes && a.placement == b.placement && a.home == b.home &&
         a.policy == b.policy && a.element_bytes == b.element_bytes && a.unprotected == b.unprotected &&
         a.home_only == b.home_only;
}

}  // namespace

// Parts by rank are those of the first use: a shorter array would not have equal parts.
void* AddedMemory::take_again(const runtime::SegmentRequest& request, std::size_t alignment) {
  const std::lock_guard<std::mutex> held(mutex_);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    const bool fits = request.placement == vm::InitialHome::slices ? piece.request.bytes == request.bytes
                                                                   : piece.request.bytes >= request.bytes;
    if (piece.in_use || !fits || !has_same_attributes(piece.request, request)) continue;
    piece.in_use = true;
    used_.push_back({i, align(piece.begin, alignment)});
    return reinterpret_cast<void*>(used_.back().memory);
  }
  return nullptr;
}

void* AddedMemory::add(const runtime::SegmentRequest& request, std::uintptr_t begin, std::size_t alignment) {
  const std::lock_guard<std::mutex> held(mutex_);
  pieces_.push_back({request, begin, true});
  if (request.unprotected) has_unprotected_.store(true);
  used_.push_back({pieces_.size() - 1, align(begin, alignment)});
  return reinterpret_cast<void*>(used_.back().memory);
}

bool AddedMemory::release(const void* memory) {
  const std::lock_guard<std::mutex> held(mutex_);
  const auto used = std::find_if(used_.begin(), used_.end(), [memory](const Used& one) {
    return one.memory == reinterpret_cast<std::uintptr_t>(memory);
  });
  if (used == used_.end()) return false;
  pieces_[used->piece].in_use = false;
  used_.erase(used);
  return true;
}

bool AddedMemory::contains(const void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::lock_guard<std::mutex> held(mutex_);
  return std::any_of(pieces_.begin(), pieces_.end(), [begin, bytes](const Piece& piece) {
    const std::size_t offset = begin - piece.begin;
    return piece.in_use && begin >= piece.begin && offset < piece.request.bytes &&
           bytes <= piece.request.bytes - offset;
  });
}

}  // namespace musubi::c_api
