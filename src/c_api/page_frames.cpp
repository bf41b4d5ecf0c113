#include "c_api/page_frames.h"

#include "base/check.h"

namespace musubi::c_api {

PageFrames::PageFrames(runtime::Runtime& runtime, std::uint64_t begin, std::uint64_t bytes)
    : runtime_(runtime),
      layout_(runtime::GlobalMemory::region, begin, bytes),
      heap_(runtime, layout_, {}, false),
      cache_(runtime.ranks()) {
  heap_.open(0);  // it grows
}

Task<std::optional<std::uint64_t>> PageFrames::take(std::uint64_t bytes) {
  auto pass = co_await gate_.enter();
  std::optional<std::uint64_t> offset = heap_.objects.allocate_at_once(cache_, runtime_.self(), bytes);
  if (!offset) offset = co_await heap_.objects.allocate(cache_, runtime_.self(), bytes);
  if (!offset) co_return std::nullopt;
  co_return layout_.data_at(*offset);
}

Task<> PageFrames::give_back(Rank owner, std::uint64_t place, std::uint64_t) {
  auto pass = co_await gate_.enter();
  const std::uint64_t offset = place - layout_.data_at(0);
  std::optional<global_heap::Freed> freed = heap_.objects.free_at_once(cache_, owner, offset);
  if (!freed) freed = co_await heap_.objects.free(cache_, owner, offset);
  MUSUBI_CHECK(*freed == global_heap::Freed::done, "the bytes of a page at rank %u were no object",
               owner.value);
}

}  // namespace musubi::c_api
