// Actions of ranks on data under locks, as tests of the policy `entry` play them one after the other.
#pragma once

#include <utility>

#include "stage.h"

namespace musubi::sim {

inline Task<> store_under(Node& node, LockId lock, std::uint64_t block, std::uint64_t value,
                          std::size_t index = 0) {
  co_await node.lock(lock);
  co_await store(node, block, value, index);
  co_await node.unlock(lock);
}
inline Task<> expect_word(Node& node, std::uint64_t value, std::uint64_t block, std::size_t index = 0) {
  const std::uint64_t found = co_await load(node, block, index);
  EXPECT_EQ(found, value) << "node " << node.self().value << ", block " << block << ", word " << index;
}
inline Task<> expect_under(Node& node, LockId lock, std::uint64_t value, std::uint64_t block,
                           std::size_t index = 0) {
  co_await node.lock(lock);
  co_await expect_word(node, value, block, index);
  co_await node.unlock(lock);
}

inline Task<> only_hold(Node& node, LockId lock) {
  co_await node.lock(lock);
  co_await node.unlock(lock);
}
inline Task<> add_under(Node& node, LockId lock, std::uint64_t block, std::size_t index) {
  co_await node.lock(lock);
  const std::uint64_t before = co_await load(node, block, index);
  co_await store(node, block, before + 1, index);
  co_await node.unlock(lock);
}

// Actions of one rank, each of them played to its end.
class At {
 public:
  At(Stage& stage, std::uint32_t rank) : stage_(stage), node_(stage.node(rank)) {}

  void act(Task<> (*action)(Node&)) { now(action(node_)); }
  void store(std::uint64_t block, std::uint64_t value, std::size_t index = 0) {
    now(sim::store(node_, block, value, index));
  }
  void store_under(LockId lock, std::uint64_t block, std::uint64_t value, std::size_t index = 0) {
    now(sim::store_under(node_, lock, block, value, index));
  }
  void add_under(LockId lock, std::uint64_t block, std::size_t index) {
    now(sim::add_under(node_, lock, block, index));
  }
  void only_hold(LockId lock) { now(sim::only_hold(node_, lock)); }
  void expect_word(std::uint64_t value, std::uint64_t block, std::size_t index = 0) {
    now(sim::expect_word(node_, value, block, index));
  }
  void expect_under(LockId lock, std::uint64_t value, std::uint64_t block, std::size_t index = 0) {
    now(sim::expect_under(node_, lock, value, block, index));
  }

 private:
  void now(Task<> task) { do_now(stage_, node_, std::move(task)); }

  Stage& stage_;
  Node& node_;
};
inline void all_expect_word(Stage& stage, std::uint64_t value, std::uint64_t block, std::size_t index = 0) {
  for (std::uint32_t rank = 0; rank < stage.cluster().size(); ++rank)
    At(stage, rank).expect_word(value, block, index);
}

}  // namespace musubi::sim
