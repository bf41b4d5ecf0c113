#include "sim/workload.h"

#include <algorithm>

namespace musubi::sim {

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
