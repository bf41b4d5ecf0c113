#include "simulator/workload.h"

#include <algorithm>
#include <array>

namespace musubi::sim {
namespace {

constexpr std::uint64_t words_at_once = 64;

// How many words can be accessed together: they lie in one block.
std::uint64_t stretch_at(std::uint64_t word, std::uint64_t count) {
  const std::uint64_t left_in_block = Workload::words_per_block - word % Workload::words_per_block;
  return std::min({count, left_in_block, words_at_once});
}

}  // namespace

// The first word opens the block; the rest then follows at the same instant, so that one buffer serves all.
Task<> Workload::write_block(Node& node, std::uint64_t block, std::uint64_t value) {
  co_await node.write(BlockId{block}, 0, std::as_bytes(std::span(&value, 1)));
  std::fill(words_.begin(), words_.end(), value);
  co_await node.write(BlockId{block}, 0, std::as_bytes(std::span(words_)));
}

Task<> Workload::expect_block(Cluster& cluster, Node& node, std::uint64_t block, std::uint64_t value) {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  co_await node.read(BlockId{block}, 0, std::as_writable_bytes(std::span(&first, 1)));
  co_await node.read(BlockId{block}, block_bytes - 8, std::as_writable_bytes(std::span(&last, 1)));
  if (first == value && last == value) co_return;
  cluster.violate("node %u read %lx and %lx in block %lu instead of %lx", node.self().value,
                  static_cast<unsigned long>(first), static_cast<unsigned long>(last),
                  static_cast<unsigned long>(block), static_cast<unsigned long>(value));
}

Task<> Workload::write_words(Node& node, std::uint64_t word, std::uint64_t count, std::uint64_t first) {
  std::array<std::uint64_t, words_at_once> words;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t stretch = stretch_at(word + done, count - done);
    for (std::uint64_t i = 0; i < stretch; ++i) words[i] = first + done + i;
    co_await node.write(BlockId{(word + done) / words_per_block}, (word + done) % words_per_block * 8,
                        std::as_bytes(std::span(words.data(), stretch)));
    done += stretch;
  }
}

Task<> Workload::expect_words(Cluster& cluster, Node& node, std::uint64_t word, std::uint64_t count,
                              std::uint64_t first, std::uint64_t increment) {
  std::array<std::uint64_t, words_at_once> words;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t stretch = stretch_at(word + done, count - done);
    co_await node.read(BlockId{(word + done) / words_per_block}, (word + done) % words_per_block * 8,
                       std::as_writable_bytes(std::span(words.data(), stretch)));
    check_words(cluster, node, word + done, std::span(words.data(), stretch), first + done * increment,
                increment);
    done += stretch;
  }
}

void Workload::check_words(Cluster& cluster, Node& node, std::uint64_t word,
                           std::span<const std::uint64_t> words, std::uint64_t first,
                           std::uint64_t increment) {
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    const std::uint64_t wanted = first + i * increment;
    if (words[i] == wanted) continue;
    cluster.violate("node %u read %lx in word %lu instead of %lx", node.self().value,
                    static_cast<unsigned long>(words[i]), static_cast<unsigned long>(word + i),
                    static_cast<unsigned long>(wanted));
  }
}

Task<> Workload::read_notices(Node& node, std::uint64_t notices_before) {
  const std::uint64_t count = node.counters().get(trace::Counter::notices_received) - notices_before;
  if (count != 0) co_await fabric::sim::think(count * notice_ns);
}

Task<std::uint64_t> Workload::meet(Node& node, std::uint64_t result) {
  const std::uint64_t notices = node.counters().get(trace::Counter::notices_received);
  sync::Barrier::Payload payload{};
  payload[0] = result;
  co_await node.barrier(payload);
  co_await read_notices(node, notices);
  co_return payload[0];
}

}  // namespace musubi::sim
