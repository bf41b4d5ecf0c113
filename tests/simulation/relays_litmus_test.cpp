// Readers that ask each other for copies (docs/decisions/readers.md): one rank writes, all other ranks read
// its writes, and each rank serves one reader itself.
#include <cstdint>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t worlds = 60;
constexpr std::uint32_t ranks = 6;
constexpr std::uint64_t rounds = 6;

struct Outcome {
  bool right = true;
  std::uint64_t relayed = 0;
};

Task<> write_rounds(Stage& stage, Node& node) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (std::size_t word = 0; word < 8; ++word) co_await store(node, 0, round, word);
    co_await meet(node);
    co_await idle(stage, 3000);
    co_await meet(node);
  }
}

Task<> read_rounds(Stage& stage, Node& node, bool* right) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    co_await meet(node);
    co_await idle(stage, 2000);
    for (std::size_t word = 0; word < 8; ++word) {
      const std::uint64_t value = co_await load(node, 0, word);
      *right = *right && value == round;
    }
    co_await meet(node);
  }
}

Configuration of_readers(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, ranks);
  configuration.plain_flags = 0;
  configuration.protocol.relay_places = 1;
  configuration.bug = bug;
  return configuration;
}

Outcome outcome_of_rounds(std::uint64_t seed, InjectedBug bug) {
  Stage stage(of_readers(seed, bug), 1);
  Outcome outcome;
  stage.play(0, write_rounds(stage, stage.node(0)));
  for (std::uint32_t i = 1; i < ranks; ++i) stage.play(i, read_rounds(stage, stage.node(i), &outcome.right));
  outcome.right = stage.ends_well() && outcome.right;
  outcome.relayed = stage.total(Counter::relayed_fetches);
  return outcome;
}

// Readers come and go: each one reads in two rounds of three. A rank that is asked may have no copy, and get
// none.
Task<> read_some_rounds(Stage& stage, Node& node, bool* right) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    co_await meet(node);
    co_await idle(stage, 2000);
    const bool reads = (round + node.self().value) % 3 != 0;
    const std::uint64_t value = reads ? co_await load(node, 0, 7) : round;
    *right = *right && value == round;
    co_await meet(node);
  }
}

Outcome outcome_of_some_rounds(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = of_readers(seed, bug);
  configuration.protocol.give_back_after_releases = 1;
  Stage stage(configuration, 1);
  Outcome outcome;
  stage.play(0, write_rounds(stage, stage.node(0)));
  for (std::uint32_t i = 1; i < ranks; ++i) {
    stage.play(i, read_some_rounds(stage, stage.node(i), &outcome.right));
  }
  outcome.right = stage.ends_well() && outcome.right;
  outcome.relayed = stage.total(Counter::relayed_fetches);
  return outcome;
}

// The writer changes in each round: the former tree of readers gets another root.
Task<> write_in_turn(Stage& stage, Node& node, bool* right) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    if (round % ranks == node.self().value) {
      for (std::size_t word = 0; word < 8; ++word) co_await store(node, 0, round, word);
    }
    co_await meet(node);
    co_await idle(stage, 2000);
    const std::uint64_t value = co_await load(node, 0, 7);
    *right = *right && value == round;
    co_await meet(node);
  }
}

Outcome outcome_of_turns(std::uint64_t seed, InjectedBug bug) {
  Stage stage(of_readers(seed, bug), 1);
  Outcome outcome;
  for (std::uint32_t i = 0; i < ranks; ++i)
    stage.play(i, write_in_turn(stage, stage.node(i), &outcome.right));
  outcome.right = stage.ends_well() && outcome.right;
  outcome.relayed = stage.total(Counter::relayed_fetches);
  return outcome;
}

using Scenario = Outcome(std::uint64_t seed, InjectedBug bug);

std::uint64_t worlds_that_are_wrong(Scenario& scenario, InjectedBug bug) {
  std::uint64_t relayed = 0;
  const auto goes_well = [&](std::uint64_t seed, InjectedBug injected) {
    const Outcome outcome = scenario(seed, injected);
    relayed += outcome.relayed;
    return outcome.right;
  };
  const std::uint64_t wrong = worlds_that_go_wrong(worlds, goes_well, bug);
  EXPECT_GT(relayed, worlds);  // otherwise the test shows nothing
  return wrong;
}

TEST(RelaysLitmus, AReaderGetsTheVersionThatItAskedForFromAnotherReader) {
  EXPECT_EQ(worlds_that_are_wrong(outcome_of_rounds, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_are_wrong(outcome_of_rounds, InjectedBug::relay_gives_what_it_has), 0u);
  EXPECT_GT(worlds_that_are_wrong(outcome_of_rounds, InjectedBug::relay_tells_first), 0u);
}

TEST(RelaysLitmus, AReaderThatFindsNoCopyFallsBackToTheWriter) {
  EXPECT_EQ(worlds_that_are_wrong(outcome_of_some_rounds, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_are_wrong(outcome_of_some_rounds, InjectedBug::relay_gives_what_it_has), 0u);
}

TEST(RelaysLitmus, ReadersFollowAWriterThatChanges) {
  EXPECT_EQ(worlds_that_are_wrong(outcome_of_turns, InjectedBug::none), 0u);
}

}  // namespace
}  // namespace musubi::sim
