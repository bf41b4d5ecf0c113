// Objects of any size at any rank: allocated and freed in caches of this process as far as they
// suffice, otherwise by batches at the heap.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/sparse_array.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "global_heap/batch_stacks.h"
#include "global_heap/layout.h"
#include "global_heap/object_cache.h"
#include "global_heap/pages.h"
#include "hooks/hooks.h"

namespace musubi::global_heap {

// Facts about the units of every heap that any thread of this process has learnt: the span of a unit, which
// never changes once it is set, and the free objects that caches of this process hold.

// A word of the directory; zero: the unit belongs to no span.
class SpanWord {
 public:
  static constexpr unsigned nodes = 255;  // instead of a class: the span holds nodes

  constexpr SpanWord() = default;
  constexpr explicit SpanWord(std::uint64_t word) : word_(word) {}
  constexpr SpanWord(unsigned size_class, std::uint64_t first_unit)
      : word_((size_class + 1) | first_unit << class_bits) {}

  constexpr std::uint64_t word() const { return word_; }
  // Whether objects are allocated from the span.
  constexpr bool holds_objects() const { return word_ != 0 && size_class() != nodes; }
  constexpr unsigned size_class() const { return static_cast<unsigned>(word_ & class_mask) - 1; }
  constexpr std::uint64_t begin() const { return (word_ >> class_bits) * unit_bytes; }

  // Whether an object of the span begins at `offset`, which is inside the unit of this word.
  constexpr bool is_object(std::uint64_t offset) const {
    if (!holds_objects()) return false;
    const std::uint64_t size = object_bytes(size_class());
    const std::uint64_t place = offset - begin();
    if ((place | size) >> 32 != 0) return place == 0;  // the only object of its span
    const std::uint32_t index = static_cast<std::uint32_t>(place) / static_cast<std::uint32_t>(size);
    return index * size == place && index < span_objects(size_class());
  }

 private:
  static constexpr unsigned class_bits = 9;
  static constexpr std::uint64_t class_mask = (std::uint64_t{1} << class_bits) - 1;

  std::uint64_t word_ = 0;
};

// Any thread.
class KnownUnits {
 public:
  KnownUnits(std::uint32_t ranks, const HeapLayout& layout)
      : units_(layout.data_bytes() / unit_bytes + 1), heaps_(ranks) {}
  ~KnownUnits() {
    for (const auto& heap : heaps_) delete heap.load();
  }
  KnownUnits(const KnownUnits&) = delete;
  KnownUnits& operator=(const KnownUnits&) = delete;

  // Zero: unknown.
  SpanWord span(Rank owner, std::uint64_t offset) noexcept {
    const Units* const heap = heaps_[owner.value].load(std::memory_order_acquire);
    if (heap == nullptr) return {};
    return SpanWord(std::atomic_ref(const_cast<Unit&>((*heap)[offset / unit_bytes]).span)
                        .load(std::memory_order_relaxed));
  }
  void learn(Rank owner, std::uint64_t offset, SpanWord span) {
    std::atomic_ref(unit(owner, offset).span).store(span.word(), std::memory_order_relaxed);
  }

  // Result: the state before.
  bool set_cached(Rank owner, std::uint64_t offset) {
    return (word(owner, offset).fetch_or(bit(offset), std::memory_order_relaxed) & bit(offset)) != 0;
  }
  void clear_cached(Rank owner, std::uint64_t offset) {
    word(owner, offset).fetch_and(~bit(offset), std::memory_order_relaxed);
  }

 private:
  struct Unit {
    std::uint64_t span;
    std::uint64_t cached[unit_bytes / granule_bytes / 64];
  };
  using Units = SparseArray<Unit>;

  Unit& unit(Rank owner, std::uint64_t offset) { return heap(owner)[offset / unit_bytes]; }
  std::atomic_ref<std::uint64_t> word(Rank owner, std::uint64_t offset) {
    return std::atomic_ref(unit(owner, offset).cached[offset % unit_bytes / granule_bytes / 64]);
  }
  static std::uint64_t bit(std::uint64_t offset) { return std::uint64_t{1} << (offset / granule_bytes % 64); }
  Units& heap(Rank owner) {
    std::atomic<Units*>& place = heaps_[owner.value];
    Units* known = place.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    auto made = std::make_unique<Units>(units_);
    if (place.compare_exchange_strong(known, made.get())) return *made.release();
    return *known;
  }

  const std::uint64_t units_;
  std::vector<std::atomic<Units*>> heaps_;
};

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
