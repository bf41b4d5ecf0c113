// Shared memory with attributes: segments that were added to the job, and which of them are in use. All ranks
// make the same calls, so they all come to the same choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/api/segments.h"

namespace musubi::c_api {

class AddedMemory {
 public:
  struct Piece {
    runtime::SegmentRequest request;  // `bytes`: what there is
    std::uintptr_t begin;
    bool in_use;
  };

  // A free piece with these attributes and room enough is in use now; null: there is none.
  void* take_again(const runtime::SegmentRequest& request, std::size_t alignment);
  void* add(const runtime::SegmentRequest& request, std::uintptr_t begin, std::size_t alignment);
  // Result: whether `memory` is what one of these gave, and in use.
  bool release(const void* memory);
  // Whether all of the bytes lie in one piece that is in use.
  bool contains(const void* memory, std::size_t bytes);

 private:
  struct Used {
    std::size_t piece;
    std::uintptr_t memory;
  };
  std::mutex mutex_;  // of all that follows
  std::vector<Piece> pieces_;
  std::vector<Used> used_;
};

}  // namespace musubi::c_api
