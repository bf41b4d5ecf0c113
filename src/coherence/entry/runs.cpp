#include "coherence/entry/runs.h"

#include <algorithm>

namespace musubi::coherence::entry {
namespace {

Run part_of(const Run& run, std::uint32_t begin, std::uint32_t end) {
  Run part = run;
  part.begin = begin;
  part.bytes = end - begin;
  return part;
}

// The first of `runs` that ends after the begin of `run`.
std::span<const Run> from_first_overlap(const Run& run, std::span<const Run> runs) {
  const auto first = std::partition_point(runs.begin(), runs.end(), [&run](const Run& other) {
    return other.block != run.block ? other.block < run.block : other.end() <= run.begin;
  });
  return {first, runs.end()};
}

void add_remainder(const Run& run, std::span<const Run> newer, Runs& parts) {
  std::uint32_t begin = run.begin;
  for (const Run& over : from_first_overlap(run, newer)) {
    if (over.block != run.block || over.begin >= run.end()) break;
    if (over.begin > begin) parts.push_back(part_of(run, begin, over.begin));
    begin = over.end();
  }
  if (begin < run.end()) parts.push_back(part_of(run, begin, run.end()));
}

}  // namespace

Runs remainder(std::span<const Run> list, std::span<const Run> newer) {
  Runs parts;
  parts.reserve(list.size());
  for (const Run& run : list) add_remainder(run, newer, parts);
  return parts;
}

void put_in_front(Runs& list, std::span<const Run> newer) {
  if (newer.empty()) return;
  Runs by_place(newer.begin(), newer.end());
  std::sort(by_place.begin(), by_place.end(), is_before);
  const Runs left = remainder(list, by_place);
  list.assign(newer.begin(), newer.end());
  list.insert(list.end(), left.begin(), left.end());
}

// Only the part of `known` around `newer` changes: updates come in many small batches.
void lay_over(Runs& known, std::span<const Run> newer) {
  if (newer.empty()) return;
  const std::span<const Run> behind = from_first_overlap(newer.front(), known);
  const auto end = std::partition_point(behind.begin(), behind.end(), [&newer](const Run& run) {
    return run.block != newer.back().block ? run.block < newer.back().block : run.begin < newer.back().end();
  });
  const std::size_t first = known.size() - behind.size();
  const auto old_count = static_cast<std::size_t>(end - behind.begin());
  const Runs left = remainder(behind.first(old_count), newer);
  const std::size_t count = left.size() + newer.size();
  const auto place = known.begin() + static_cast<std::ptrdiff_t>(first);
  if (count < old_count) {
    known.erase(place, place + static_cast<std::ptrdiff_t>(old_count - count));
  } else {
    known.insert(place, count - old_count, Run{});
  }
  std::merge(left.begin(), left.end(), newer.begin(), newer.end(),
             known.begin() + static_cast<std::ptrdiff_t>(first), is_before);
}

Runs newest_parts(std::span<const Run> runs, std::span<const Run> known) {
  Runs parts;
  parts.reserve(runs.size());
  Runs newer;
  for (const Run& run : runs) {
    newer.clear();
    for (const Run& other : from_first_overlap(run, known)) {
      if (other.block != run.block || other.begin >= run.end()) break;
      if (!is_older(other, run)) newer.push_back(other);
    }
    add_remainder(run, newer, parts);
  }
  return parts;
}

}  // namespace musubi::coherence::entry
