// The two views of a rank's memory file: the user view, segment by segment at the program's addresses, and
// the system view of the whole file, always readable and writable, at an address of the kernel's choice.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/sparse_array.h"
#include "os/memory.h"
#include "vm/space.h"

namespace musubi::vm {

// A set of segments of a space, by number. Any thread, also inside a handler.
class SegmentSet {
 public:
  // `space` outlives the set.
  explicit SegmentSet(const Space& space) : space_(space), words_(Space::segments_max / bits) {}

  // Result: whether it was a member before.
  bool add(const Segment& segment) noexcept {
    return (word_of(segment).fetch_or(bit(segment), std::memory_order_release) & bit(segment)) != 0;
  }
  void remove(const Segment& segment) noexcept { word_of(segment).fetch_and(~bit(segment)); }
  bool contains(const Segment& segment) const noexcept {
    return (word_of(segment).load(std::memory_order_acquire) & bit(segment)) != 0;
  }
  int size() const noexcept {
    int count = 0;
    for (std::size_t i = 0; i * bits < space_.segments().size(); ++i) count += std::popcount(word(i).load());
    return count;
  }

 private:
  static constexpr std::size_t bits = 64;

  std::uint64_t bit(const Segment& segment) const noexcept {
    return std::uint64_t{1} << space_.index_of(segment) % bits;
  }
  std::atomic_ref<std::uint64_t> word(std::size_t i) const noexcept {
    return std::atomic_ref(const_cast<std::uint64_t&>(words_[i]));
  }
  std::atomic_ref<std::uint64_t> word_of(const Segment& segment) const noexcept {
    return word(space_.index_of(segment) / bits);
  }

  const Space& space_;
  SparseArray<std::uint64_t> words_;
};

enum class Placement : std::uint8_t {
  fresh,    // the segment's addresses must be free
  replace,  // replaces existing mappings: the caller has copied them into the system view
};

// The memory of a segment that is left open.
enum class Backing : std::uint8_t {
  own,          // ordinary memory of the process; the segment's previous bytes are lost
  memory_file,  // as before, for every view of the file
};

// Unmaps the views on destruction, except for segments that have parts: the addresses between the parts are
// not shared memory.
class Views {
 public:
  explicit Views(const Space& space) noexcept : space_(space) {}
  ~Views();
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;

  // Maps the system view of `memory`, a memfd of at least space.bytes(), laid out by the offsets of the
  // space; the caller may close it afterwards. Called first, once. Errors: a protected block that is not
  // whole pages, a memory file too short, no address space, no free file descriptor.
  Result<void> open(int memory);

  // Maps segment `index` without any access; an unprotected one is left open, as the memory file. Once per
  // segment, by one thread at a time. Errors: addresses in use, refused by the kernel.
  Result<void> map_segment(std::size_t index, Placement placement);
  // The same for a part of a segment that has parts: whole pages, in use from then on.
  Result<void> map_part(std::size_t index, std::uintptr_t address, std::size_t bytes, Placement placement);

  // Opens a mapped segment for good, as PagedVm::leave_segment_open.
  Result<void> leave_open(std::size_t index, Backing backing);

  // In a child made by fork: replaces every mapped segment that is not left open, or is unprotected, by a
  // private mapping of the same memory without any access. Errors: refused by the kernel.
  Result<void> map_copies();

  const Space& space() const noexcept { return space_; }
  std::byte* system() const noexcept { return system_.data(); }
  bool system_covers(std::uintptr_t address) const noexcept {
    return address - reinterpret_cast<std::uintptr_t>(system_.data()) < system_.bytes();
  }
  // Any thread, also inside a handler. True from shortly before a segment is mapped.
  bool is_mapped(const Segment& segment) const noexcept { return mapped_segments_.contains(segment); }
  bool is_left_open(const Segment& segment) const noexcept { return open_segments_.contains(segment); }
  bool shows_memory_file(const Segment& segment) const noexcept { return !own_segments_.contains(segment); }
  int mapped_count() const noexcept;

 private:
  Result<void> map(const Segment& segment, std::uintptr_t address, std::size_t bytes, Placement placement);

  const Space& space_;
  os::FileDescriptor memory_;
  os::Mapping system_;
  SegmentSet mapped_segments_{space_};
  SegmentSet open_segments_{space_};
  SegmentSet own_segments_{space_};  // segments with ordinary memory of the process
  std::atomic<int> mapped_parts_{0};
};

}  // namespace musubi::vm
