// Data handed over by flags, which no lock and no barrier announces: each thread is a hand. Round by round it
// changes its data and then its flag, and waits until the flags of all other hands are as far. A hand that
// sees a flag must find the data.
#pragma once

#include <utility>
#include <vector>

#include "scene.h"

namespace musubi::sim {

struct Hand {
  Node* node;
  Word data;
  Word flag;
};

// No two hands share a word; a flag is next to data of other hands, in another block than its own data.
inline std::vector<Hand> hands_of(Stage& stage, std::uint32_t threads, std::uint64_t blocks, Random& random) {
  std::vector<Hand> hands;
  const auto place = [&](std::size_t index) { return Word{random.below(blocks), index}; };
  for (std::uint32_t i = 0; i < stage.cluster().size() * threads; ++i) {
    hands.push_back({&stage.node(i % stage.cluster().size()), place(i), place(i)});
    Hand& hand = hands.back();
    if (hand.data.block == hand.flag.block) hand.flag.block = (hand.flag.block + 1) % blocks;
  }
  return hands;
}

class Play : public Scene {
 public:
  Play(Stage& stage, std::vector<Hand> hands) : Scene(stage, hands.size()), hands_(std::move(hands)) {}

  void start_hands(unsigned rounds = 6) {
    for (const Hand& hand : hands_) stage().play(hand.node->self().value, hand_over(hand, rounds));
  }

 protected:
  virtual Task<> set_flag(const Hand& own, std::uint64_t round) { return store(*own.node, own.flag, round); }
  // Reads the flag of another hand until it is as far, and checks the data then.
  virtual Task<> await_flag(const Hand& own, const Hand& other, std::uint64_t round) {
    for (;;) {
      const std::uint64_t flag = co_await load(*own.node, other.flag);
      if (flag >= round) break;
      co_await own.node->flush();
    }
    co_await check_data(own, other, round);
  }
  // Actions before and after a flag is set, which publish blocks or move them.
  virtual Task<> act_between(Node&) { co_return; }

  // A flag that is seen before its data is a failure.
  Task<> check_data(const Hand& own, const Hand& other, std::uint64_t round) {
    const std::uint64_t data = co_await load(*own.node, other.data);
    if (data < round) fail();
  }

 private:
  Task<> hand_over(const Hand& own, unsigned rounds) {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      co_await idle(stage(), 4000);
      co_await store(*own.node, own.data, round);
      co_await act_between(*own.node);
      co_await set_flag(own, round);
      co_await act_between(*own.node);
      for (const Hand& other : hands_) co_await await_flag(own, other, round);
      if (round % (rounds / 2) == 0) co_await meet(*own.node);
    }
    end_task();
  }

  std::vector<Hand> hands_;
};

}  // namespace musubi::sim
