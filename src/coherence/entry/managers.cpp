// Pages: their managers and copy sets between two barriers.
#include "coherence/entry/pages.h"
#include "coherence/rules/states.h"
#include "fabric/transfer.h"

namespace musubi::coherence::entry {

// The new manager builds its own copy set: each rank with a copy joins it. The ranks that release at the next
// barrier may miss some of them, as they may miss ranks that map the page for the first time.
Task<> Pages::change_manager(BlockId id, Rank manager, std::uint64_t epoch) {
  const Rank before = this->manager(id);
  if (before == manager) co_return;
  auto pass = co_await ground_.store.gate(id).enter();
  Block b = block(id);
  Page& page = pages_[id.value];
  if (before == ground_.self()) {
    for (std::size_t i = 0; i < ground_.board.layout().copy_set_words; ++i) {
      const std::uint64_t offset = ground_.board.copy_set(id) + i * sizeof(std::uint64_t);
      ground_.store.shared(ground_.board.word(offset)).store(0);
    }
    page.mapped = true;
    page.turned = epoch;
    watch(id);
  }
  if (manager == ground_.self() && !page.mapped) {
    co_await fetch_from(before, b, ground_.board.layout().updated, epoch);
  }
  page.new_manager = manager.value + 1;
  page.registered = false;
  if (manager == ground_.self() || !page.mapped) co_return;
  joined_.store(true);
  co_await join(id);
}

Task<> Pages::unmap_unused(std::uint64_t epoch, std::uint64_t unused_max) {
  if (unused_max == 0) co_return;
  for (const BlockId id : mapped_.take()) {
    auto pass = co_await ground_.store.gate(id).enter();
    Block b = block(id);
    Page& page = pages_[id.value];
    page.watched = false;
    if (!page.mapped || manager(id) == ground_.self()) continue;
    const bool is_due = epoch - page.turned >= unused_max;
    if (is_due && !rules::is_valid(b.entry)) {
      co_await leave(id);
      ground_.count(trace::Counter::unmapped_pages);
      BlockPages* const memory = ground_.store.memory().pages;
      if (memory != nullptr) (void)memory->give_back(b.extent.offset, b.extent.bytes);
      continue;
    }
    if (is_due) {
      ground_.vm.close({id, 1});
      b.entry.copy.state = State::invalid_clean;
      page.turned = epoch;
    }
    watch(id);
  }
}

}  // namespace musubi::coherence::entry
