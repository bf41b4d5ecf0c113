// Free objects that lie at a heap in batches: a stack for each class, and one of empty nodes, in the heap
// itself, changed by one-sided operations alone (Treiber). A node stays a node for good, so that a stale look
// at one harms nobody; the tag in the head makes the exchange fail that follows from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/task.h"
#include "fabric/fabric.h"
#include "global_heap/layout.h"
#include "hooks/hooks.h"

namespace musubi::global_heap {

// What a node holds.
struct Batch {
  static constexpr std::uint64_t run_mark = std::uint64_t{1} << 63;

  std::uint64_t next = 0;   // the node below, as a number; 0: none
  std::uint64_t count = 0;  // of objects; with run_mark they lie one behind another from offsets[0] on
  std::array<std::uint64_t, batch_objects_max> offsets;
};
inline constexpr std::uint64_t node_bytes = 512;
// Of an empty node: `count` of them lie one behind another, this one is the first.
inline constexpr std::size_t empty_bytes = offsetof(Batch, offsets);
static_assert(sizeof(Batch) == node_bytes);

class BatchStacks {
 public:
  static constexpr unsigned empties = class_count;

  BatchStacks(fabric::Fabric& fabric, const HeapLayout& layout, Hooks hooks = {})
      : fabric_(fabric), layout_(layout), hooks_(hooks) {}

  // Takes the top node and reads the first `bytes` bytes of it. Result: where it lies; none: there is none.
  // Any thread; lock-free. `content` lives until the task ends.
  Task<std::optional<std::uint64_t>> pop(Rank owner, unsigned stack, Batch& content, std::size_t bytes);
  // Writes the first `bytes` bytes of `content` into the caller's node and puts it on top. As pop.
  Task<> push(Rank owner, unsigned stack, std::uint64_t node, Batch& content, std::size_t bytes);

 private:
  fabric::Fabric& fabric_;
  const HeapLayout layout_;
  const Hooks hooks_;
};

}  // namespace musubi::global_heap
