#include "atomics/ranges.h"

#include <algorithm>
#include <vector>

namespace musubi::atomics {

Result<SharedRanges> SharedRanges::make(std::span<const AddressInterval> ranges, Holds holds) {
  std::vector<AddressInterval> sorted;
  for (const AddressInterval& range : ranges) {
    if (range.begin < range.end) sorted.push_back(range);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const AddressInterval& a, const AddressInterval& b) { return a.begin < b.begin; });
  SharedRanges result;
  result.holds_ = holds;
  for (const AddressInterval& range : sorted) {
    if (result.count_ > 0 && range.begin <= result.ranges_[result.count_ - 1].end) {
      AddressInterval& last = result.ranges_[result.count_ - 1];
      last.end = std::max(last.end, range.end);
      continue;
    }
    if (result.count_ == count_max) {
      return Error{
          "the shared space has more than 32 separate address ranges; place its segments side by side"};
    }
    result.ranges_[result.count_++] = range;
  }
  result.make_filter();
  return result;
}

void SharedRanges::make_filter() {
  filter_ = ranges_;
  filter_count_ = count_;
  while (filter_count_ > filter_count_max) {
    std::size_t narrowest = 0;
    auto gap = [this](std::size_t i) { return filter_[i + 1].begin - filter_[i].end; };
    for (std::size_t i = 1; i + 1 < filter_count_; ++i) {
      if (gap(i) < gap(narrowest)) narrowest = i;
    }
    filter_[narrowest].end = filter_[narrowest + 1].end;
    std::copy(filter_.begin() + narrowest + 2, filter_.begin() + filter_count_,
              filter_.begin() + narrowest + 1);
    --filter_count_;
  }
}

}  // namespace musubi::atomics
