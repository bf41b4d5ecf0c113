#include "coherence/store/unwritten.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "vm/vm.h"

namespace musubi::coherence {
namespace {

using Word = std::uint32_t;
constexpr std::size_t word_bytes = sizeof(Word);

std::atomic_ref<Word> live_word(std::byte* place) {
  return std::atomic_ref(*reinterpret_cast<Word*>(place));
}
Word written_word_at(const std::byte* place) {
  Word value = 0;
  std::memcpy(&value, place, word_bytes);
  return value;
}

// Calls visit(offset) for each word, in stretches between which other threads may act (in a simulation).
template <class Visit>
void for_each_word(const BlockStore& store, const Block& block, Visit&& visit) {
  MUSUBI_CHECK(block.extent.bytes % word_bytes == 0 && block.extent.address % word_bytes == 0);
  const auto visit_stretch = [&](std::size_t at, std::size_t bytes) {
    for (const std::size_t end = at + bytes; at != end; at += word_bytes) visit(at);
  };
  store.hooks().for_each_stretch(0, block.extent.bytes, visit_stretch);
}

}  // namespace

void fill_with_unwritten(const BlockStore& store, const Block& block) {
  for_each_word(store, block,
                [&](std::size_t at) { std::memcpy(block.own + at, &vm::unwritten, word_bytes); });
}

void fill_unwritten_from(const BlockStore& store, const Block& block, const std::byte* remote) {
  std::memcpy(block.published, remote, block.extent.bytes);
  for_each_word(store, block, [&](std::size_t at) {
    Word expected = vm::unwritten;
    live_word(block.own + at).compare_exchange_strong(expected, written_word_at(remote + at));
  });
}

WrittenWords::WrittenWords(const BlockStore& store, const Block& block) : block_(block) {
  const bool sends_all = store.hooks().injected(InjectedBug::unwritten_sent);
  for_each_word(store, block, [&](std::size_t at) {
    Word value = live_word(block.own + at).load(std::memory_order_relaxed);
    if (value != vm::unwritten) value = live_word(block.own + at).exchange(vm::unwritten);
    if (value == vm::unwritten && sends_all) value = 0;
    std::memcpy(block.published + at, &value, word_bytes);
  });
}

Changes::Piece WrittenWords::next() {
  const std::size_t bytes = block_.extent.bytes;
  while (at_ < bytes && written_word_at(block_.published + at_) == vm::unwritten) at_ += word_bytes;
  std::size_t end = at_;
  while (end < bytes && written_word_at(block_.published + end) != vm::unwritten) end += word_bytes;
  return {at_, end};
}

}  // namespace musubi::coherence
