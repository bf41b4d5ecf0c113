#include "simulator/recording.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

namespace musubi::sim {
namespace {

using Touch = Recording::Touch;
using End = Recording::End;
using Interval = Recording::Interval;

// Untouched bytes between two segments of the simulated space.
constexpr std::size_t gap_bytes = std::size_t{1} << 20;

template <class Meaning>
struct Word {
  std::string_view text;
  Meaning meaning;
};
constexpr std::array<Word<Touch>, 6> touches{{{"r", Touch::read_fault},
                                              {"w", Touch::write_fault},
                                              {"R", Touch::read},
                                              {"W", Touch::write},
                                              {"O", Touch::overwrite},
                                              {"S", Touch::store}}};
constexpr std::array<Word<End>, 6> ends{{{"barrier", End::barrier},
                                         {"lock", End::lock},
                                         {"unlock", End::unlock},
                                         {"release", End::release},
                                         {"acquire", End::acquire},
                                         {"end", End::program}}};

}  // namespace

// Of one rank's file.
class RecordingReader {
 public:
  RecordingReader(Recording& recording, std::uint32_t rank) : recording_(recording), rank_(rank) {}

  Result<void> read(const std::string& name) {
    std::ifstream file(name);
    for (std::string text; std::getline(file, text);) {
      if (!take(text)) return Error{name + ": a recording does not know: " + text};
    }
    if (!has_ended_) return Error{name + " is not there, or does not reach the end of the program"};
    if (!held_.empty()) return Error{name + ": a lock is held at the end"};
    return {};
  }

 private:
  bool take(const std::string& text) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t number = 0; line >> number;) numbers.push_back(number);
    if (has_ended_ || !line.eof()) return false;
    if (word == "ranks") return numbers == std::vector<std::uint64_t>{recording_.ranks(), rank_};
    if (word == "segment") return take_segment(numbers);
    if (const auto* end = std::ranges::find(ends, word, &Word<End>::text); end != ends.end())
      return take_end(end->meaning, numbers);
    if (numbers.size() != 2) return false;
    const AddressRange range{numbers[0], numbers[1]};
    if (word == "c") return interval_.changes.push_back(range), true;
    const auto* touch = std::ranges::find(touches, word, &Word<Touch>::text);
    if (touch == touches.end()) return false;
    interval_.items.push_back({touch->meaning, range});
    return true;
  }

  bool take_segment(const std::vector<std::uint64_t>& numbers) {
    if (numbers.size() != 6 || numbers[3] > 2) return false;
    const auto is_same = [&](const vm::Segment& known) { return known.base == numbers[0]; };
    if (std::ranges::any_of(recording_.segments_, is_same)) return true;
    vm::Segment segment;
    segment.name = "recorded";
    segment.base = numbers[0];
    segment.bytes = numbers[1];
    segment.block_bytes = numbers[2];
    segment.initial_home = static_cast<vm::InitialHome>(numbers[3]);
    segment.home = Rank{static_cast<std::uint32_t>(numbers[4])};
    segment.slice_bytes = numbers[5];
    recording_.segments_.push_back(segment);
    return true;
  }

  bool take_end(End end, const std::vector<std::uint64_t>& numbers) {
    const bool is_lock = end == End::lock || end == End::unlock;
    const bool has_channel = end == End::release || end == End::acquire;
    if (numbers.size() != (is_lock || has_channel ? 1 : 0)) return false;
    if (has_channel) {
      auto& known = recording_.channels_;
      interval_.number =
          known.try_emplace(numbers[0], static_cast<std::uint32_t>(known.size())).first->second;
    }
    if (is_lock) {
      interval_.number = recording_.locks_.try_emplace(numbers[0], recording_.locks()).first->second;
      const bool changes = end == End::lock ? held_.insert(numbers[0]).second : held_.erase(numbers[0]) == 1;
      if (!changes) return false;
    }
    has_ended_ = end == End::program;
    interval_.end = end;
    std::ranges::sort(interval_.changes, {}, &AddressRange::begin);
    recording_.intervals_[rank_].push_back(std::move(interval_));
    interval_ = {};
    return true;
  }

  Recording& recording_;
  const std::uint32_t rank_;
  Interval interval_;
  std::set<std::uint64_t> held_;
  bool has_ended_ = false;
};

Result<Recording> Recording::read(const std::string& path) {
  Recording recording;
  std::uint32_t ranks = 0;
  std::string word;
  std::ifstream(path + ".0") >> word >> ranks;
  if (word != "ranks" || ranks == 0) return Error{path + ".0 is not there, or no recording"};
  recording.intervals_.resize(ranks);
  const auto barriers = [&](std::uint32_t rank) {
    return std::ranges::count(recording.intervals_[rank], End::barrier, &Interval::end);
  };
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::string name = path + "." + std::to_string(rank);
    if (auto done = RecordingReader(recording, rank).read(name); !done) return done.error();
    if (barriers(rank) != barriers(0)) return Error{name + ": as many barriers as rank 0 has are not there"};
  }
  if (!recording.are_channels_paired())
    return Error{path + ": a recording knows only releases that one rank acquires"};
  return recording;
}

// Of a channel with one receiver, as those of reductions: each acquire is of a release of its own.
bool Recording::are_channels_paired() const {
  std::vector<std::uint64_t> releases(channels()), acquires(channels());
  for (const auto& of_rank : intervals_) {
    for (const Interval& interval : of_rank) {
      if (interval.end == End::release) ++releases[interval.number];
      if (interval.end == End::acquire) ++acquires[interval.number];
    }
  }
  return releases == acquires;
}

Recording::Barriers Recording::together() const {
  Barriers found{UINT32_MAX, 0};
  for (std::uint32_t rank = 1; rank < ranks(); ++rank) {
    std::uint32_t barriers = 0;
    for (const Interval& interval : intervals_[rank]) {
      if (!interval.items.empty()) {
        found.first = std::min(found.first, barriers);
        found.last = std::max(found.last, barriers + 1);
      }
      barriers += interval.end == End::barrier ? 1 : 0;
    }
  }
  return {std::min(found.first, found.last), found.last};
}

std::map<std::size_t, std::size_t> Recording::touched_parts(const vm::Segment& whole,
                                                            std::size_t unit) const {
  std::map<std::size_t, std::size_t> parts;
  const auto add = [&](const Item& item) {
    if (item.range.begin - whole.base >= whole.bytes) return;
    const std::size_t begin = item.range.begin - whole.base;
    const std::size_t end = std::min(begin + std::max<std::size_t>(item.range.bytes, 1), whole.bytes);
    std::size_t& last = parts[begin / unit * unit];
    last = std::max(last, (end + unit - 1) / unit * unit);
  };
  for (const auto& of_rank : intervals_)
    for (const Interval& interval : of_rank) std::ranges::for_each(interval.items, add);
  return parts;
}

// A segment of the real job is mostly untouched, and has slices of gigabytes: each part that is touched
// becomes a segment, in one slice.
vm::Space Recording::space() const {
  vm::Space space(ranks());
  for (const vm::Segment& whole : segments_) {
    const bool is_cyclic = whole.initial_home == vm::InitialHome::cyclic;
    const bool has_slices = whole.initial_home == vm::InitialHome::slices;
    const std::size_t slice = has_slices ? whole.slice_bytes : whole.bytes;
    auto parts = touched_parts(whole, whole.block_bytes * (is_cyclic ? ranks() : 1));
    for (auto part = parts.begin(); part != parts.end();) {
      const std::size_t begin = part->first, slice_end = (begin / slice + 1) * slice;
      std::size_t end = part->second;
      while (++part != parts.end() && part->first < std::min(end + gap_bytes, slice_end)) {
        end = std::max(end, part->second);
      }
      // A range may reach into the next slice.
      if (end > slice_end && slice_end < whole.bytes) {
        std::size_t& rest = parts[slice_end];
        rest = std::max(rest, end);
        end = slice_end;
        part = parts.find(slice_end);
      }
      vm::Segment segment = whole;
      segment.base = whole.base + begin;
      segment.bytes = std::min(end, whole.bytes) - begin;
      if (has_slices) {
        segment.initial_home = vm::InitialHome::one_rank;
        segment.home = Rank{static_cast<std::uint32_t>(begin / slice)};
      }
      space.add(segment);
    }
  }
  return space;
}

}  // namespace musubi::sim
