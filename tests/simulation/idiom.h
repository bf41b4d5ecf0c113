// A scenario of threads that synchronise by atomic operations, with plain data.
#pragma once

#include <array>

#include "stage.h"

namespace musubi::sim {

inline constexpr std::uint64_t idiom_blocks = 6, idiom_words = 16;

// One operation on a word of 8 bytes. Described ones may be done at the block's home.
class Operate final : public coherence::Modification {
 public:
  Operate(std::size_t index, AtomicOperation what, bool described, bool relaxed) : what_(what) {
    orders_nothing = relaxed;
    offset = index * sizeof(std::uint64_t);
    bytes = sizeof(std::uint64_t);
    if (described) operation = &what_;
  }
  void apply(std::byte* block) noexcept override { found_ = modify_in_place(block + offset, what_); }
  void found(AtomicValue old) noexcept override { found_ = old; }
  std::uint64_t before() const { return static_cast<std::uint64_t>(found_); }

 private:
  AtomicOperation what_;
  AtomicValue found_ = 0;
};

struct Place {
  std::uint64_t block;
  std::size_t index;
};

struct Shape {
  std::uint32_t nodes;
  std::uint32_t threads;  // of all nodes
  InjectedBug bug = InjectedBug::none;
  bool relaxed = false;     // the operations order nothing, which is too little for an idiom
  std::uint64_t times = 1;  // the number of worlds, in multiples
};

// A scenario: a number of threads, each of which runs take_part() once.
class Idiom {
 public:
  Idiom(Stage& stage, Random& random, const Shape& shape)
      : stage_(stage), shape_(shape), described_(random.chance(75)), at_work_(shape.threads) {
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i] = {random.below(idiom_blocks), i};
  }
  virtual ~Idiom() = default;
  Idiom(const Idiom&) = delete;

  void start() {
    for (std::uint32_t i = 0; i < threads(); ++i) stage_.play(i % stage_.cluster().size(), run(i));
    stage_.play_on_all([this](Node& node) { return work_in_background(node); });
  }
  unsigned failures() const { return failures_; }

 protected:
  virtual Task<> take_part(Node& node, std::uint32_t thread) = 0;

  std::uint32_t threads() const { return shape_.threads; }
  void fail_unless(bool holds) { failures_ += holds ? 0 : 1; }
  // No two places share a word; they may share a block.
  Task<std::uint64_t> read(Node& node, std::size_t place) {
    return load(node, places_[place].block, places_[place].index);
  }
  Task<> write(Node& node, std::size_t place, std::uint64_t value) {
    return store(node, places_[place].block, value, places_[place].index);
  }
  // Result: the value before.
  Task<std::uint64_t> operate(Node& node, std::size_t place, AtomicOperation what) {
    Operate operation(places_[place].index, what, described_, shape_.relaxed);
    co_await node.modify(BlockId{places_[place].block}, operation);
    co_return operation.before();
  }
  Task<std::uint64_t> add(Node& node, std::size_t place, std::uint64_t amount) {
    return operate(node, place, {AtomicOperation::Kind::add, sizeof amount, amount});
  }
  Task<std::uint64_t> exchange(Node& node, std::size_t place, std::uint64_t value) {
    return operate(node, place, {AtomicOperation::Kind::exchange, sizeof value, value});
  }
  Task<std::uint64_t> compare_exchange(Node& node, std::size_t place, std::uint64_t old, std::uint64_t next) {
    return operate(node, place, {AtomicOperation::Kind::compare_exchange, sizeof next, next, old});
  }
  fabric::sim::Think think() { return idle(stage_, 3000); }
  fabric::sim::Think pause() {
    return idle(stage_, 2000 + 4 * stage_.cluster().configuration().model.latency_ns);
  }

 private:
  Task<> run(std::uint32_t thread) {
    co_await think();
    co_await take_part(stage_.node(thread % stage_.cluster().size()), thread);
    --at_work_;
  }
  Task<> work_in_background(Node& node) {
    while (at_work_ != 0) {
      (void)co_await node.background().answer();
      if (stage_.cluster().world().random().chance(30)) (void)co_await node.background().poll();
      co_await pause();
    }
  }

  Stage& stage_;
  const Shape shape_;
  const bool described_;
  std::size_t at_work_;
  unsigned failures_ = 0;
  std::array<Place, idiom_words> places_;
};

}  // namespace musubi::sim
