// What is known of the functions that were looked at, and of those that are being looked at now. The object
// begins as zeros, which take no memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace musubi::atomics {

class BoundMemory {
 public:
  struct Summary {
    std::uint8_t narrowest;  // of its stores, and of all that it calls
    bool returns;
  };
  // A function whose summary is wanted. Functions may call each other in a circle. The summary of the inner
  // one then lacks the outer one, and serves no other caller until the outer one's summary is known.
  struct Entry {
    std::uintptr_t key;
    Summary summary;
    bool is_open;               // being looked at
    std::uint32_t depth;        // while it is open
    std::uint32_t outer_depth;  // the summary lacks what the open function there does; none: no_depth
    std::uint64_t outer;        // and this is its number
  };
  static constexpr std::uint32_t no_depth = ~std::uint32_t{0}, depth_max = 48;

  // Null: there is no room.
  Entry* at(std::uintptr_t key) noexcept;
  void forget_all() noexcept;

  void open(Entry& entry, std::uint32_t depth) noexcept;
  // `outer_depth`: of the outermost open function that its summary was made without.
  void close(Entry& entry, Summary summary, std::uint32_t outer_depth) noexcept;
  // Whether the summary may be used, now.
  bool holds(const Entry& entry) const noexcept;

 private:
  static constexpr std::size_t entries_max = 4096;

  std::array<Entry, entries_max> entries_;
  std::size_t count_;
  std::array<std::uint64_t, depth_max> open_;  // by depth, the number of the function that is open there
  std::uint64_t opened_;                       // so far
};

}  // namespace musubi::atomics
