// Bytes inside shared blocks that belong to each rank alone: copy relocations, .got.plt. They are never
// compared, merged or copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace musubi::coherence {

class PrivateParts {
 public:
  // Offsets are in the views (vm::Space); ranges do not overlap. Called before use, in any order.
  void add(std::size_t offset, std::size_t bytes) {
    ranges_.emplace_back(offset, offset + bytes);
    std::sort(ranges_.begin(), ranges_.end());
  }
  bool empty() const { return ranges_.empty(); }

  // Whether any of [begin, end) is private.
  bool touch(std::size_t begin, std::size_t end) const {
    auto range = std::upper_bound(ranges_.begin(), ranges_.end(), std::pair{begin, SIZE_MAX});
    if (range != ranges_.end() && range->first < end) return true;
    return range != ranges_.begin() && (--range)->second > begin;
  }
  // Calls visit(begin, end) for each shared part of [begin, end) of the views, in order.
  template <class Visit>
  void for_each_shared_part(std::size_t begin, std::size_t end, Visit&& visit) const {
    auto range = std::upper_bound(ranges_.begin(), ranges_.end(), std::pair{begin, SIZE_MAX});
    if (range != ranges_.begin()) --range;
    for (; range != ranges_.end() && range->first < end; ++range) {
      if (range->second <= begin) continue;
      if (range->first > begin) visit(begin, range->first);
      begin = range->second;
      if (begin >= end) return;
    }
    if (begin < end) visit(begin, end);
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;
};

}  // namespace musubi::coherence
