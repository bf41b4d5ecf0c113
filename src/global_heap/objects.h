// Objects of any size at any rank: allocated and freed in caches of this process as far as they
// suffice, otherwise by batches at the heap.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/task.h"
#include "fabric/fabric.h"
#include "global_heap/batch_stacks.h"
#include "global_heap/known_units.h"
#include "global_heap/layout.h"
#include "global_heap/object_cache.h"
#include "global_heap/pages.h"
#include "global_heap/pending_batches.h"
#include "hooks/hooks.h"

namespace musubi::global_heap {

enum class Freed : std::uint8_t {
  done,
  no_object,     // no object begins there
  free_already,  // it is not allocated
};

class ObjectAllocator {
 public:
  // `full_checks`: every object has a bit at its heap that tells whether it is allocated; the same at every
  // rank. Otherwise only objects too large for caches have such a bit. All outlive this.
  ObjectAllocator(fabric::Fabric& fabric, const HeapLayout& layout, Pages& pages, bool full_checks,
                  Hooks hooks = {});
  ObjectAllocator(const ObjectAllocator&) = delete;
  ObjectAllocator& operator=(const ObjectAllocator&) = delete;

  // Any thread, with a cache of its own. From `cache` alone, without any operation of the fabric. Result:
  // nothing, without any change, if that is not possible.
  std::optional<std::uint64_t> allocate_at_once(ObjectCache& cache, Rank owner, std::uint64_t bytes);
  std::optional<Freed> free_at_once(ObjectCache& cache, Rank owner, std::uint64_t offset);
  // Nothing: the heap is full and cannot grow enough.
  Task<std::optional<std::uint64_t>> allocate(ObjectCache& cache, Rank owner, std::uint64_t bytes);
  Task<Freed> free(ObjectCache& cache, Rank owner, std::uint64_t offset);
  // Returns all objects of `cache` to the heaps.
  Task<> flush(ObjectCache& cache);

  // Double frees that were detected only when the object returned to a cache of this process that still held
  // it: it then counts once.
  std::uint64_t found_late() const { return found_late_.load(std::memory_order_relaxed); }

  // For tests.
  std::size_t pending() { return pending_.count(); }

 private:
  bool is_marked(unsigned size_class) const { return full_checks_ || size_class >= cached_class_count; }
  std::optional<std::uint64_t> take(ClassCache& cache, Rank owner);

  Task<> refill(ClassCache& cache, Rank owner, unsigned size_class);
  void accept(ClassCache& cache, Rank owner, unsigned size_class, const Batch& batch);
  Task<std::optional<std::uint64_t>> take_large(Rank owner, unsigned size_class);
  Task<Freed> free_known(ObjectCache& cache, Rank owner, std::uint64_t offset, unsigned size_class);

  Task<std::optional<std::uint64_t>> take_span(Rank owner, SpanWord kind, std::uint64_t units);
  Task<SpanWord> look_up(Rank owner, std::uint64_t offset);
  Task<bool> pop(Rank owner, unsigned size_class, Batch& batch);
  Task<> push(Rank owner, unsigned size_class, Batch& batch);
  Task<std::optional<std::uint64_t>> take_node(Rank owner);

  Task<> mark_given(Rank owner, std::uint64_t offset);
  Task<bool> mark_free(Rank owner, std::uint64_t offset);

  fabric::Fabric& fabric_;
  const HeapLayout layout_;
  Pages& pages_;
  const bool full_checks_;
  const Hooks hooks_;
  BatchStacks stacks_;
  KnownUnits known_;
  std::atomic<std::uint64_t> found_late_{0};
  PendingBatches pending_;
};

}  // namespace musubi::global_heap
