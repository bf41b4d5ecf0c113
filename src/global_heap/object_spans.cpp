// The operations of ObjectAllocator at a heap: spans and their words, batches and their nodes, the bits of
// objects.
#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "fabric/transfer.h"
#include "global_heap/objects.h"

namespace musubi::global_heap {

using fabric::Step;
using fabric::transfer;

// The words are written before any thread gets an object of the span.
Task<std::optional<std::uint64_t>> ObjectAllocator::take_span(Rank owner, SpanWord kind,
                                                              std::uint64_t units) {
  const std::optional<std::uint64_t> begin =
      co_await pages_.take(owner, units * unit_bytes, unit_bytes, PageState::other);
  if (!begin) co_return std::nullopt;
  // Objects of a larger span begin in its first unit.
  std::array<std::uint64_t, span_units(cached_class_count - 1)> words;
  const std::size_t count = units <= words.size() ? units : 1;
  const SpanWord word(kind.size_class(), *begin / unit_bytes);
  std::fill_n(words.begin(), count, word.word());
  const Step say = fabric::put(layout_.region(), layout_.directory_at(*begin / unit_bytes), words.data(),
                               count * sizeof(std::uint64_t));
  if (!hooks_.injected(InjectedBug::heap_span_not_told))
    co_await transfer(fabric_, owner, std::span{&say, 1});
  for (std::size_t unit = 0; unit < count; ++unit) known_.learn(owner, *begin + unit * unit_bytes, word);
  co_return begin;
}

Task<SpanWord> ObjectAllocator::look_up(Rank owner, std::uint64_t offset) {
  const SpanWord known = known_.span(owner, offset);
  if (known.word() != 0) co_return known;
  std::uint64_t word = 0;
  const Step look =
      fabric::get(layout_.region(), layout_.directory_at(offset / unit_bytes), &word, sizeof word);
  co_await transfer(fabric_, owner, std::span{&look, 1});
  const SpanWord found(word);
  if (word != 0) known_.learn(owner, offset, found);
  co_return found;
}

Task<bool> ObjectAllocator::pop(Rank owner, unsigned size_class, Batch& batch) {
  if (pending_.take(owner, size_class, batch)) co_return true;
  const std::optional<std::uint64_t> node = co_await stacks_.pop(owner, size_class, batch, sizeof batch);
  if (!node) co_return false;
  Batch empty;
  empty.count = 1;
  co_await stacks_.push(owner, BatchStacks::empties, *node, empty, empty_bytes);
  co_return true;
}

Task<> ObjectAllocator::push(Rank owner, unsigned size_class, Batch& batch) {
  if ((batch.count & Batch::run_mark) == 0 && size_class < cached_class_count) {
    for (std::uint64_t i = 0; i < batch.count; ++i) known_.clear_cached(owner, batch.offsets[i]);
  }
  const std::optional<std::uint64_t> node = co_await take_node(owner);
  if (node) {
    co_await stacks_.push(owner, size_class, *node, batch, sizeof batch);
  } else {
    pending_.put(owner, size_class, batch);
  }
}

Task<std::optional<std::uint64_t>> ObjectAllocator::take_node(Rank owner) {
  Batch empty;
  std::optional<std::uint64_t> node = co_await stacks_.pop(owner, BatchStacks::empties, empty, empty_bytes);
  if (!node) {
    node = co_await take_span(owner, SpanWord(SpanWord::nodes, 0), 1);
    empty.count = unit_bytes / node_bytes;
  }
  if (node && empty.count > 1) {
    --empty.count;
    co_await stacks_.push(owner, BatchStacks::empties, *node + node_bytes, empty, empty_bytes);
  }
  co_return node;
}

// Only the caller changes the bit of an object that it holds, while other threads change its neighbours'
// bits: the sum has no carry.
Task<> ObjectAllocator::mark_given(Rank owner, std::uint64_t offset) {
  const std::uint64_t bit = std::uint64_t{1} << (offset / granule_bytes % 64);
  std::uint64_t before = 0;
  const Step set = fabric::fetch_add(layout_.region(), layout_.object_states_at(offset), &before, bit);
  co_await transfer(fabric_, owner, std::span{&set, 1});
  MUSUBI_CHECK((before & bit) == 0, "object %lu of rank %u was given out twice",
               static_cast<unsigned long>(offset), owner.value);
}

// Result: whether it was allocated before.
Task<bool> ObjectAllocator::mark_free(Rank owner, std::uint64_t offset) {
  const std::uint64_t bit = std::uint64_t{1} << (offset / granule_bytes % 64);
  std::uint64_t word = 0;
  const Step look = fabric::get(layout_.region(), layout_.object_states_at(offset), &word, sizeof word);
  co_await transfer(fabric_, owner, std::span{&look, 1});
  for (unsigned attempt = 0;; ++attempt) {
    if ((word & bit) == 0) co_return false;
    std::uint64_t seen = 0;
    const Step clear =
        fabric::compare_swap(layout_.region(), layout_.object_states_at(offset), &seen, word, word & ~bit);
    co_await transfer(fabric_, owner, std::span{&clear, 1});
    if (seen == word) co_return true;
    word = seen;
    co_await pause(attempt);
  }
}

}  // namespace musubi::global_heap
