// Facts about the units of every heap that any thread of this process has learnt: the span of a unit, which
// never changes once it is set, and the free objects that caches of this process hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/sparse_array.h"
#include "global_heap/layout.h"

namespace musubi::global_heap {

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

}  // namespace musubi::global_heap
