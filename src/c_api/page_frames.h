// Memory of ranks for the bytes of relocatable pages: objects of a private global heap.
#pragma once

#include <cstdint>
#include <optional>

#include "base/event.h"
#include "c_api/global_heap.h"
#include "global_heap/object_cache.h"
#include "global_pages/pages.h"

namespace musubi::c_api {

class PageFrames final : public global_pages::Frames {
 public:
  // [begin, begin + bytes) of the region of every rank.
  PageFrames(runtime::Runtime& runtime, std::uint64_t begin, std::uint64_t bytes);

  Task<std::optional<std::uint64_t>> take(std::uint64_t bytes) override;
  Task<> give_back(Rank owner, std::uint64_t place, std::uint64_t bytes) override;

 private:
  runtime::Runtime& runtime_;
  const global_heap::HeapLayout layout_;
  GlobalHeap heap_;
  Gate gate_;  // for the cache: moves are rare
  global_heap::ObjectCache cache_;
};

}  // namespace musubi::c_api
