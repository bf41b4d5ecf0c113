// Bytes inside shared blocks that belong to each rank alone: copy relocations, .got.plt. They are never
// compared, merged or copied.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace musubi::coherence {

class PrivateParts {
 public:
  // Offset in the views (vm::Space) and length.
  using Part = std::pair<std::size_t, std::size_t>;

  PrivateParts() = default;
  PrivateParts(const PrivateParts&) = delete;
  PrivateParts& operator=(const PrivateParts&) = delete;

  // Parts do not overlap, and nothing has been done with their blocks yet. One thread at a time; other
  // threads may read in the meantime. The old table is kept for readers that still use it: libraries that
  // come late are few.
  void add(std::span<const Part> parts) {
    auto ranges = std::make_unique<Ranges>(*ranges_.load());
    for (const auto& [offset, bytes] : parts) ranges->emplace_back(offset, offset + bytes);
    std::sort(ranges->begin(), ranges->end());
    ranges_.store(ranges.get());
    kept_.push_back(std::move(ranges));
  }
  void add(std::size_t offset, std::size_t bytes) {
    const Part part{offset, bytes};
    add(std::span{&part, 1});
  }
  bool empty() const { return ranges_.load()->empty(); }

  // Whether any of [begin, end) is private.
  bool touch(std::size_t begin, std::size_t end) const {
    MUSUBI_CHECK(begin <= end);
    const Ranges& ranges = *ranges_.load();
    auto range = std::upper_bound(ranges.begin(), ranges.end(), std::pair{begin, SIZE_MAX});
    if (range != ranges.end() && range->first < end) return true;
    return range != ranges.begin() && (--range)->second > begin;
  }
  // Calls visit(begin, end) for each shared part of [begin, end) of the views, in order.
  template <class Visit>
  void for_each_shared_part(std::size_t begin, std::size_t end, Visit&& visit) const {
    MUSUBI_CHECK(begin <= end);
    const Ranges& ranges = *ranges_.load();
    auto range = std::upper_bound(ranges.begin(), ranges.end(), std::pair{begin, SIZE_MAX});
    if (range != ranges.begin()) --range;
    for (; range != ranges.end() && range->first < end; ++range) {
      if (range->second <= begin) continue;
      if (range->first > begin) visit(begin, range->first);
      begin = range->second;
      if (begin >= end) return;
    }
    if (begin < end) visit(begin, end);
  }

 private:
  using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;  // begin and end, ascending

  const Ranges none_;
  std::atomic<const Ranges*> ranges_{&none_};
  std::vector<std::unique_ptr<const Ranges>> kept_;
};

}  // namespace musubi::coherence
