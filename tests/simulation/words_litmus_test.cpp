// Words that several ranks store to without synchronisation, as graph codes do: if the merge unit is set to
// their width, or no store is narrower, every value read is one that was stored. And neighbours smaller than
// a word, each of which one rank writes: if neither holds, none is lost, whatever else is in the block.
#include <algorithm>
#include <set>

#include "stage.h"

namespace musubi::sim {
namespace {

constexpr std::uint64_t worlds = 300;
constexpr unsigned rounds = 6;
constexpr std::size_t words = 8;

template <class Word>
Task<> put(Node& node, std::size_t index, Word value) {
  co_await node.write(BlockId{0}, index * sizeof value, std::as_bytes(std::span{&value, 1}));
}
template <class Word>
Task<Word> get(Node& node, std::size_t index) {
  Word value{};
  co_await node.read(BlockId{0}, index * sizeof value, std::as_writable_bytes(std::span{&value, 1}));
  co_return value;
}

struct Stored {
  std::set<std::uint64_t> of_word[words];
  bool torn = false;
};

// Each rank changes another byte of a word: merging by byte produces a value that no rank stored.
template <class Word>
Task<> store_and_look(Stage& stage, Node& node, unsigned seed, Stored* stored) {
  Random random(seed * 64 + node.self().value);
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned i = 0; i < 6; ++i) {
      const std::size_t index = random.below(words);
      const unsigned byte = static_cast<unsigned>((node.self().value + round) % sizeof(Word));
      const auto value = static_cast<Word>(Word{1} << 8 * byte) * static_cast<Word>(random.between(1, 255));
      stored->of_word[index].insert(value);
      co_await put<Word>(node, index, value);
      co_await idle(stage, 1000);
      const Word seen = co_await get<Word>(node, random.below(words));
      (void)seen;
    }
    co_await meet(node);
    for (std::size_t index = 0; index < words; ++index) {
      const Word seen = co_await get<Word>(node, index);
      if (seen != 0 && !stored->of_word[index].contains(seen)) stored->torn = true;
    }
    co_await meet(node);
  }
}

enum class Told : std::uint8_t { by_the_setting, by_the_stores, not_at_all };

template <class Word>
unsigned worlds_with_torn_words(InjectedBug bug, Told told = Told::by_the_setting,
                                Policy policy = Policy::migrating) {
  unsigned torn = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 3);
    configuration.bug = bug;
    configuration.policy = policy;
    Stage stage(configuration, 1, stage_block_bytes, told == Told::by_the_setting ? sizeof(Word) : 0);
    Stored stored;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      if (told == Told::by_the_stores) stage.node(rank).protocol().set_store_bound({.bytes = sizeof(Word)});
      stage.play(rank, store_and_look<Word>(stage, stage.node(rank), static_cast<unsigned>(seed), &stored));
    }
    EXPECT_TRUE(stage.ends_well()) << stage.cluster().violation() << "seed " << seed;
    torn += stored.torn;
  }
  return torn;
}

TEST(WordsLitmus, IntsAreNeverTorn) {
  EXPECT_EQ(worlds_with_torn_words<std::uint32_t>(InjectedBug::none), 0u);
}
TEST(WordsLitmus, DoublesAndPointersAreNeverTorn) {
  EXPECT_EQ(worlds_with_torn_words<std::uint64_t>(InjectedBug::none), 0u);
}
TEST(WordsLitmus, WordsAreNeverTornWhereNoStoreIsNarrower) {
  EXPECT_EQ(worlds_with_torn_words<std::uint32_t>(InjectedBug::none, Told::by_the_stores), 0u);
  EXPECT_EQ(worlds_with_torn_words<std::uint64_t>(InjectedBug::none, Told::by_the_stores), 0u);
}
TEST(WordsLitmus, WordsThatAreBroughtToTheirHomeAreNeverTorn) {
  for (const Told told : {Told::by_the_setting, Told::by_the_stores}) {
    EXPECT_EQ(worlds_with_torn_words<std::uint32_t>(InjectedBug::none, told, Policy::home_based), 0u);
    EXPECT_EQ(worlds_with_torn_words<std::uint64_t>(InjectedBug::none, told, Policy::home_based), 0u);
  }
}
TEST(WordsLitmus, MergingByByteTearsThem) {
  EXPECT_GT(worlds_with_torn_words<std::uint32_t>(InjectedBug::none, Told::not_at_all), 0u);
  EXPECT_GT(worlds_with_torn_words<std::uint32_t>(InjectedBug::words_merged_by_byte), 0u);
  EXPECT_GT(worlds_with_torn_words<std::uint64_t>(InjectedBug::words_merged_by_byte), 0u);
}

// ---- neighbours ----

// Each rank first stores to a word of its own in the block: the chars after it are not noticed.
Task<> write_word_and_chars(Stage& stage, Node& node, unsigned* lost) {
  constexpr std::size_t ranks = 3, first_char = ranks * sizeof(std::uint32_t);
  for (unsigned round = 1; round <= rounds; ++round) {
    const std::uint32_t self = node.self().value;
    co_await put<std::uint32_t>(node, self, round * 1000 + self);
    co_await put<std::uint8_t>(node, first_char + self, static_cast<std::uint8_t>(round + self));
    co_await idle(stage, 1000);
    co_await meet(node);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t word = co_await get<std::uint32_t>(node, rank);
      const std::uint8_t byte = co_await get<std::uint8_t>(node, first_char + rank);
      *lost += word != round * 1000 + rank || byte != static_cast<std::uint8_t>(round + rank);
    }
    co_await meet(node);
  }
}

TEST(WordsLitmus, CharsBehindWordsAreKept) {
  unsigned lost = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Stage stage(hostile(seed, 3), 1);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      stage.play(rank, write_word_and_chars(stage, stage.node(rank), &lost));
    }
    EXPECT_TRUE(stage.ends_well()) << stage.cluster().violation() << "seed " << seed;
  }
  EXPECT_EQ(lost, 0u);
}

// Regions that store ints, which race, and regions that store chars, each of one rank's own: in turn, in the
// same words of one block.
Task<> store_in_turns(Stage& stage, Node& node, bool bound_ends, Stored* stored, unsigned* lost) {
  constexpr std::size_t chars_per_word = 3, bytes = words * 4;
  Random random(node.self().value);
  for (unsigned round = 1; round <= rounds; ++round) {
    co_await meet(node);
    node.protocol().set_store_bound({.bytes = 4});
    for (std::size_t index = 0; index < words; ++index) {
      const auto value = static_cast<std::uint32_t>(random.between(1, 255))
                         << 8 * (node.self().value + round) % 32;
      stored->of_word[index].insert(value);
      co_await put<std::uint32_t>(node, index, value);
      co_await idle(stage, 1000);
    }
    co_await meet(node);
    if (bound_ends) node.protocol().set_store_bound({});
    for (std::size_t index = 0; index < words; ++index) {
      const auto seen = co_await get<std::uint32_t>(node, index);
      stored->torn = stored->torn || !stored->of_word[index].contains(seen);
    }
    co_await meet(node);
    for (std::size_t i = node.self().value; i < bytes; i += chars_per_word) {
      co_await put<std::uint8_t>(node, i, static_cast<std::uint8_t>(round * 7 + i));
      if (i % 4 == 0) co_await idle(stage, 1000);
    }
    co_await meet(node);
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto seen = co_await get<std::uint8_t>(node, i);
      *lost += seen != static_cast<std::uint8_t>(round * 7 + i);
    }
    co_await meet(node);
    if (node.self().value == 0) {
      for (std::size_t index = 0; index < words; ++index) {
        stored->of_word[index].clear();
      }
    }
  }
}

unsigned lost_in_turns(bool bound_ends, Policy policy = Policy::migrating) {
  unsigned lost = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 3);
    configuration.policy = policy;
    Stage stage(configuration, 1);
    Stored stored;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      stage.play(rank, store_in_turns(stage, stage.node(rank), bound_ends, &stored, &lost));
    }
    EXPECT_TRUE(stage.ends_well()) << stage.cluster().violation() << "seed " << seed;
    EXPECT_TRUE(!bound_ends || !stored.torn) << "seed " << seed;
  }
  return lost;
}

TEST(WordsLitmus, RegionsOfWordsAndOfCharsTakeTurns) {
  EXPECT_EQ(lost_in_turns(true), 0u);
  EXPECT_EQ(lost_in_turns(true, Policy::home_based), 0u);
}
TEST(WordsLitmus, ABoundThatOutlivesItsRegionLosesChars) {
  EXPECT_GT(lost_in_turns(false), 0u);
}

// One word holds a char of each rank, which no bound covers; all other words race at the same time.
Task<> store_beside_exception(Stage& stage, Node& node, Stored* stored, unsigned* lost) {
  const std::uint32_t self = node.self().value;
  Random random(self);
  for (unsigned round = 1; round <= rounds; ++round) {
    co_await put<std::uint8_t>(node, self, static_cast<std::uint8_t>(round + self));
    for (std::size_t index = 1; index < words; ++index) {
      const auto value = static_cast<std::uint32_t>(random.between(1, 255)) << 8 * ((self + round) % 4);
      stored->of_word[index].insert(value);
      co_await put<std::uint32_t>(node, index, value);
      co_await idle(stage, 1000);
    }
    co_await meet(node);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const auto seen = co_await get<std::uint8_t>(node, rank);
      *lost += seen != static_cast<std::uint8_t>(round + rank);
    }
    for (std::size_t index = 1; index < words; ++index) {
      const auto seen = co_await get<std::uint32_t>(node, index);
      stored->torn = stored->torn || !stored->of_word[index].contains(seen);
    }
    co_await meet(node);
  }
}

unsigned lost_beside_words(const StoreBound& bound, Policy policy = Policy::migrating) {
  unsigned lost = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 3);
    configuration.policy = policy;
    Stage stage(configuration, 1);
    Stored stored;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      stage.node(rank).protocol().set_store_bound(bound);
      stage.play(rank, store_beside_exception(stage, stage.node(rank), &stored, &lost));
    }
    EXPECT_TRUE(stage.ends_well()) << stage.cluster().violation() << "seed " << seed;
    EXPECT_FALSE(stored.torn) << "seed " << seed;
  }
  return lost;
}

TEST(WordsLitmus, NarrowPlacesGoByByte) {
  const std::uintptr_t base = stage_space(3, 1, stage_block_bytes, 0).segments().front().base;
  StoreBound ints{.bytes = 4};
  EXPECT_GT(lost_beside_words(ints), 0u);
  ints.place_count = 1;
  ints.places[0] = {.begin = base + 2, .end = base + 3, .origin = base + 2, .bytes = 1};
  EXPECT_EQ(lost_beside_words(ints), 0u);
  EXPECT_EQ(lost_beside_words(ints, Policy::home_based), 0u);
}

enum class Shares { cyclic, halves };

bool is_mine(Shares shares, std::size_t index, std::size_t count, std::uint32_t rank) {
  return shares == Shares::cyclic ? index % 3 == rank : std::min<std::size_t>(index * 3 / count, 2) == rank;
}

template <class Cell>
Task<> write_own_cells(Stage& stage, Node& node, Shares shares, unsigned* lost) {
  constexpr std::size_t count = stage_block_bytes / sizeof(Cell);
  for (unsigned round = 1; round <= rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_mine(shares, i, count, node.self().value))
        co_await put<Cell>(node, i, static_cast<Cell>(round + i));
    }
    co_await idle(stage, 1000);
    co_await meet(node);
    for (std::size_t i = 0; i < count; ++i) {
      const Cell seen = co_await get<Cell>(node, i);
      *lost += seen != static_cast<Cell>(round + i);
    }
    co_await meet(node);
  }
}

template <class Cell>
unsigned cells_lost(Shares shares) {
  unsigned lost = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Stage stage(hostile(seed, 3), 1);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      stage.play(rank, write_own_cells<Cell>(stage, stage.node(rank), shares, &lost));
    }
    EXPECT_TRUE(stage.ends_well()) << stage.cluster().violation() << "seed " << seed;
  }
  return lost;
}

TEST(WordsLitmus, NeighboursKeepTheirBytes) {
  for (const Shares shares : {Shares::cyclic, Shares::halves}) {
    EXPECT_EQ(cells_lost<std::uint8_t>(shares), 0u);
    EXPECT_EQ(cells_lost<std::uint16_t>(shares), 0u);
    EXPECT_EQ(cells_lost<std::uint32_t>(shares), 0u);
    EXPECT_EQ(cells_lost<std::uint64_t>(shares), 0u);
  }
}

}  // namespace
}  // namespace musubi::sim
