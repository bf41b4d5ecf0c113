// A scenario of threads that synchronise by atomic operations, with plain data.
#pragma once

#include <array>

#include "scene.h"

namespace musubi::sim {

inline constexpr std::uint64_t idiom_blocks = 6, idiom_words = 16;

struct Shape {
  std::uint32_t nodes;
  std::uint32_t threads;  // of all nodes
  bool relaxed = false;   // the operations order nothing, which is too little for an idiom
};

// A scenario: a number of threads, each of which runs take_part() once.
class Idiom : public Scene {
 public:
  Idiom(Stage& stage, Random& random, const Shape& shape)
      : Scene(stage, shape.threads), shape_(shape), described_(random.chance(75)) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = {random.below(idiom_blocks), i};
  }

  void start() {
    for (std::uint32_t i = 0; i < threads(); ++i) stage().play(i % shape_.nodes, run(i));
    start_backgrounds();
  }

 protected:
  virtual Task<> take_part(Node& node, std::uint32_t thread) = 0;

  std::uint32_t threads() const { return shape_.threads; }
  void fail_unless(bool holds) {
    if (!holds) fail();
  }
  // No two places share a word; they may share a block.
  Task<std::uint64_t> read(Node& node, std::size_t place) { return load(node, words_[place]); }
  Task<> write(Node& node, std::size_t place, std::uint64_t value) {
    return store(node, words_[place], value);
  }
  // Result: the value before.
  Task<std::uint64_t> operate(Node& node, std::size_t place, AtomicOperation what) {
    AtomicChange change(words_[place].index, what, described_);
    change.orders_nothing = shape_.relaxed;
    co_await node.modify(BlockId{words_[place].block}, change);
    co_return change.before();
  }
  Task<std::uint64_t> add(Node& node, std::size_t place, std::uint64_t amount) {
    return operate(node, place, addition_of(amount));
  }
  Task<std::uint64_t> exchange(Node& node, std::size_t place, std::uint64_t value) {
    return operate(node, place, {AtomicOperation::Kind::exchange, sizeof value, value});
  }
  Task<std::uint64_t> compare_exchange(Node& node, std::size_t place, std::uint64_t old, std::uint64_t next) {
    return operate(node, place, {AtomicOperation::Kind::compare_exchange, sizeof next, next, old});
  }
  fabric::sim::Think think() { return idle(stage(), 3000); }

 private:
  Task<> run(std::uint32_t thread) {
    co_await think();
    co_await take_part(stage().node(thread % shape_.nodes), thread);
    end_task();
  }
  Task<> poll(Node& node) override { return answer_and_poll(node); }

  const Shape shape_;
  const bool described_;
  std::array<Word, idiom_words> words_;
};

}  // namespace musubi::sim
