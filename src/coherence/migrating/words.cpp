// What is learned of how the program writes to blocks (docs/decisions/merge_unit.md).
#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

void Engine::note_store(BlockId id, std::size_t offset, std::size_t bytes) noexcept {
  std::atomic_ref<std::uint64_t> word(memory_.words[id.value].stores);
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t next = StoreEvidence(seen).after_store(offset, bytes).raw();
    if (next == seen || word.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return;
  }
}

// The next release has nothing to do with what has faulted before this one.
void Engine::end_interval_of_stores(const Block& b) noexcept {
  std::atomic_ref<std::uint64_t> word(b.words.stores);
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t next = StoreEvidence(seen).after_release().raw();
    if (next == seen || word.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return;
  }
}

// What another rank knows of the block counts here, too, from now on.
void Engine::learn_stores(const Block& b, StoreEvidence stores) {
  std::atomic_ref<std::uint64_t> word(b.words.stores);
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t next = StoreEvidence(seen).with_widths_of(stores).raw();
    if (next == seen || word.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return;
  }
}

// Blocks stay writable over many releases: other code may come to write there, and nobody sees how. After
// this its first store to each block is seen.
Task<> Engine::watch_stores() {
  seeing_stores_.store(true);
  co_await release(false);
  seeing_stores_.store(false);
}

}  // namespace musubi::coherence::migrating
