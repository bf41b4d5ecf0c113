// Free objects of all heaps that one thread has cached: plain data of that thread. Two magazines for each
// process and class (Bonwick and Adams), so that a thread that frees and allocates alternately accesses the
// heap once per magazine, not at each step around its edge; and the rest of a span that is still to be
// divided.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "global_heap/batch_stacks.h"
#include "global_heap/layout.h"

namespace musubi::global_heap {

struct Magazine {
  unsigned count = 0;
  std::array<std::uint64_t, batch_objects_max> offsets;
};

// For one process and class.
class ClassCache {
 public:
  explicit ClassCache(unsigned size_class)
      : object_bytes_(object_bytes(size_class)), capacity_(batch_objects(size_class)) {}

  bool is_empty() const { return magazines_[0].count == 0 && magazines_[1].count == 0 && next_ == end_; }
  // A freed object. Nothing: the cache is empty, or all its objects are fresh.
  std::optional<std::uint64_t> take_freed() {
    if (loaded().count == 0) {
      if (other().count == 0) return std::nullopt;
      loaded_ = !loaded_;
    }
    return loaded().offsets[--loaded().count];
  }
  std::optional<std::uint64_t> cut() {
    if (next_ == end_) return std::nullopt;
    return std::exchange(next_, next_ + object_bytes_);
  }
  // False: both magazines are full.
  bool put(std::uint64_t offset) {
    if (loaded().count == capacity_) {
      if (other().count != 0) return false;
      loaded_ = !loaded_;
    }
    loaded().offsets[loaded().count++] = offset;
    return true;
  }
  bool is_full() const { return magazines_[loaded_].count == capacity_ && magazines_[!loaded_].count != 0; }
  bool is_uncut(std::uint64_t offset) const { return offset >= next_ && offset < end_; }

  // REQUIRES: is_empty().
  void cut_from(std::uint64_t begin, std::uint64_t objects) {
    next_ = begin;
    end_ = begin + objects * object_bytes_;
  }
  // Takes a batch out of the cache, for the heap: the unused magazine if both are full; in repeated calls,
  // all objects. Result: false if the magazines are empty.
  bool give_up(Batch& batch) {
    Magazine& magazine = other().count != 0 ? other() : loaded();
    batch.count = std::exchange(magazine.count, 0);
    std::copy_n(magazine.offsets.begin(), batch.count, batch.offsets.begin());
    return batch.count != 0;
  }
  bool give_up_uncut(Batch& batch) {
    const std::uint64_t objects = (end_ - next_) / object_bytes_;
    batch.count = objects | Batch::run_mark;
    batch.offsets[0] = std::exchange(next_, end_);
    return objects != 0;
  }

 private:
  Magazine& loaded() { return magazines_[loaded_]; }
  Magazine& other() { return magazines_[!loaded_]; }

  const std::uint64_t object_bytes_;
  const unsigned capacity_;
  bool loaded_ = false;
  std::uint64_t next_ = 0;  // objects in [next_, end_) were never allocated
  std::uint64_t end_ = 0;
  std::array<Magazine, 2> magazines_;
};

class ObjectCache {
 public:
  using Classes = std::array<std::unique_ptr<ClassCache>, cached_class_count>;

  explicit ObjectCache(std::uint32_t ranks) : owners_(ranks) {}

  // Null: not made yet.
  ClassCache* find(Rank owner, unsigned size_class) const noexcept {
    const Classes* const classes = owners_[owner.value].get();
    return classes == nullptr ? nullptr : (*classes)[size_class].get();
  }
  ClassCache& of(Rank owner, unsigned size_class) {
    std::unique_ptr<Classes>& classes = owners_[owner.value];
    if (classes == nullptr) classes = std::make_unique<Classes>();
    std::unique_ptr<ClassCache>& cache = (*classes)[size_class];
    if (cache == nullptr) cache = std::make_unique<ClassCache>(size_class);
    return *cache;
  }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(owners_.size()); }

 private:
  std::vector<std::unique_ptr<Classes>> owners_;
};

}  // namespace musubi::global_heap
