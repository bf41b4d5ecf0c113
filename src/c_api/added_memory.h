// Shared memory with attributes: segments that were added to the job, and which of them are in use. All ranks
// make the same calls, so they all make the same choice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/api/segments.h"

namespace musubi::c_api {

class AddedMemory {
 public:
  struct Piece {
    runtime::SegmentRequest request;  // `bytes`: of the whole piece
    std::uintptr_t begin;
    bool in_use;
  };

  // Puts a free piece with these attributes and enough room into use; null: none.
  void* take_again(const runtime::SegmentRequest& request, std::size_t alignment);
  void* add(const runtime::SegmentRequest& request, std::uintptr_t begin, std::size_t alignment);
  // Result: whether `memory` is a result of these functions that was in use.
  bool release(const void* memory);
  // Whether all of the bytes are inside one piece that is in use.
  bool contains(const void* memory, std::size_t bytes);
  // Whether a piece without protection is or was in use.
  bool has_unprotected() const { return has_unprotected_.load(std::memory_order_relaxed); }

 private:
  struct Used {
    std::size_t piece;
    std::uintptr_t memory;
  };
  std::atomic<bool> has_unprotected_{false};
  std::mutex mutex_;  // for all members below
  std::vector<Piece> pieces_;
  std::vector<Used> used_;
};

}  // namespace musubi::c_api
