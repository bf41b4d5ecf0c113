// Memory of sms_alloc and sms_calloc. Large requests get a segment each; small ones of the same page manager
// and element size share one, as in the paper they share pages. All processes make the same calls, so they
// all compute the same addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "coherence/policy.h"
#include "runtime/api/runtime.h"

namespace musubi::sms {

// The coherence policy of SMS's segments, by the setting sms_policy.
coherence::Policy policy_of(const config::Settings& settings);
// Segment::merge_unit for elements of this size, 1 or more: the largest power of two up to 8 that divides it.
std::uint8_t merge_unit_of(std::size_t item_bytes);

class SharedMemory {
 public:
  static constexpr std::size_t alignment = 64;  // a line of the processor's cache

  explicit SharedMemory(runtime::Runtime& runtime) : runtime_(runtime) {}

  // 1 byte or more, zeros, of elements of `element_bytes`. Collective. Errors, the same at every process: no
  // addresses are left.
  Result<void*> allocate(std::size_t bytes, std::size_t element_bytes, Rank page_manager);
  // Whether the whole range is inside one allocation.
  bool contains(std::uintptr_t begin, std::size_t bytes) const;

 private:
  struct Room {  // the rest of a segment that allocations share
    Rank page_manager;
    std::size_t element_bytes;
    std::uintptr_t begin;
    std::size_t bytes;
  };
  Result<std::uintptr_t> add_segment(std::size_t bytes, std::size_t element_bytes, Rank page_manager);
  Room& room_for(std::size_t element_bytes, Rank page_manager);

  runtime::Runtime& runtime_;
  std::vector<Room> rooms_;
  std::map<std::uintptr_t, std::size_t> allocations_;  // bytes by address
};

// Changes of page managers: requested at any time, effective from the next barrier on.
class PageManagers {
 public:
  explicit PageManagers(runtime::Runtime& runtime) : runtime_(runtime) {}

  // All of the range is shared memory.
  void change(std::uintptr_t begin, std::size_t bytes, Rank page_manager);
  // After each barrier, before the program continues. Moves the pages that this process now manages to it,
  // one block at a time; blocks for their previous managers.
  void carry_out();

 private:
  struct Change {
    std::uintptr_t begin;
    std::size_t bytes;
  };
  runtime::Runtime& runtime_;
  std::vector<Change> to_here_;
};

}  // namespace musubi::sms
