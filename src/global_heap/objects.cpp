#include "global_heap/objects.h"

#include "base/check.h"

namespace musubi::global_heap {

ObjectAllocator::ObjectAllocator(fabric::Fabric& fabric, const HeapLayout& layout, Pages& pages,
                                 bool full_checks, Hooks hooks)
    : fabric_(fabric),
      layout_(layout),
      pages_(pages),
      full_checks_(full_checks),
      hooks_(hooks),
      stacks_(fabric, layout, hooks),
      known_(fabric.ranks(), layout) {}

std::optional<std::uint64_t> ObjectAllocator::take(ClassCache& cache, Rank owner) {
  if (const std::optional<std::uint64_t> freed = cache.take_freed()) {
    known_.clear_cached(owner, *freed);
    return freed;
  }
  return cache.cut();
}

std::optional<std::uint64_t> ObjectAllocator::allocate_at_once(ObjectCache& cache, Rank owner,
                                                               std::uint64_t bytes) {
  if (bytes > object_bytes(cached_class_count - 1) || full_checks_) return std::nullopt;
  ClassCache* const local = cache.find(owner, class_of(bytes));
  return local == nullptr ? std::nullopt : take(*local, owner);
}

std::optional<Freed> ObjectAllocator::free_at_once(ObjectCache& cache, Rank owner, std::uint64_t offset) {
  if (full_checks_ || offset >= layout_.data_bytes()) return std::nullopt;
  const SpanWord span = known_.span(owner, offset);
  if (!span.is_object(offset) || span.size_class() >= cached_class_count) return std::nullopt;
  ClassCache* const local = cache.find(owner, span.size_class());
  if (local == nullptr || local->is_full()) return std::nullopt;
  if (local->is_uncut(offset)) return Freed::free_already;
  if (known_.set_cached(owner, offset)) return Freed::free_already;
  local->put(offset);
  return Freed::done;
}

Task<std::optional<std::uint64_t>> ObjectAllocator::allocate(ObjectCache& cache, Rank owner,
                                                             std::uint64_t bytes) {
  if (bytes > layout_.data_bytes()) co_return std::nullopt;
  const unsigned size_class = class_of(bytes);
  std::optional<std::uint64_t> offset;
  if (size_class >= cached_class_count) {
    offset = co_await take_large(owner, size_class);
  } else {
    ClassCache& local = cache.of(owner, size_class);
    if (local.is_empty()) co_await refill(local, owner, size_class);
    offset = take(local, owner);
  }
  if (offset && is_marked(size_class)) co_await mark_given(owner, *offset);
  co_return offset;
}

Task<> ObjectAllocator::refill(ClassCache& cache, Rank owner, unsigned size_class) {
  while (cache.is_empty()) {
    Batch batch;
    const bool any = co_await pop(owner, size_class, batch);
    if (any) {
      accept(cache, owner, size_class, batch);
      continue;
    }
    const SpanWord kind(size_class, 0);
    const std::optional<std::uint64_t> span = co_await take_span(owner, kind, span_units(size_class));
    if (!span) co_return;
    cache.cut_from(*span, span_objects(size_class));
  }
}

void ObjectAllocator::accept(ClassCache& cache, Rank owner, unsigned size_class, const Batch& batch) {
  if ((batch.count & Batch::run_mark) != 0) {
    cache.cut_from(batch.offsets[0], batch.count & ~Batch::run_mark);
    return;
  }
  MUSUBI_CHECK(batch.count <= batch_objects(size_class));
  for (std::uint64_t i = 0; i < batch.count; ++i) {
    const std::uint64_t offset = batch.offsets[i];
    if (known_.set_cached(owner, offset)) {
      found_late_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    if (span_units(size_class) == 1) known_.learn(owner, offset, {size_class, offset / unit_bytes});
    cache.put(offset);
  }
}

Task<std::optional<std::uint64_t>> ObjectAllocator::take_large(Rank owner, unsigned size_class) {
  Batch batch;
  const bool any = co_await pop(owner, size_class, batch);
  if (any) co_return batch.offsets[0];
  co_return co_await take_span(owner, SpanWord(size_class, 0), span_units(size_class));
}

Task<Freed> ObjectAllocator::free(ObjectCache& cache, Rank owner, std::uint64_t offset) {
  if (offset >= layout_.data_bytes()) co_return Freed::no_object;
  const SpanWord span = co_await look_up(owner, offset);
  if (!span.is_object(offset)) co_return Freed::no_object;
  if (is_marked(span.size_class())) {
    const bool was_given = co_await mark_free(owner, offset);
    if (!was_given) co_return Freed::free_already;
  }
  co_return co_await free_known(cache, owner, offset, span.size_class());
}

Task<Freed> ObjectAllocator::free_known(ObjectCache& cache, Rank owner, std::uint64_t offset,
                                        unsigned size_class) {
  Batch batch;
  if (size_class >= cached_class_count) {
    batch.count = 1;
    batch.offsets[0] = offset;
    co_await push(owner, size_class, batch);
    co_return Freed::done;
  }
  ClassCache& local = cache.of(owner, size_class);
  if (local.is_uncut(offset)) co_return Freed::free_already;
  if (known_.set_cached(owner, offset)) co_return Freed::free_already;
  const bool was_full = local.is_full() && local.give_up(batch);
  local.put(offset);
  if (was_full) co_await push(owner, size_class, batch);
  co_return Freed::done;
}

Task<> ObjectAllocator::flush(ObjectCache& cache) {
  Batch batch;
  for (Rank owner{0}; owner.value < cache.ranks(); ++owner.value) {
    for (unsigned size_class = 0; size_class < cached_class_count; ++size_class) {
      ClassCache* const local = cache.find(owner, size_class);
      if (local == nullptr) continue;
      while (local->give_up(batch)) co_await push(owner, size_class, batch);
      if (local->give_up_uncut(batch)) co_await push(owner, size_class, batch);
    }
  }
}

}  // namespace musubi::global_heap
