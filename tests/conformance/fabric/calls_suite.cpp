// Calls, and steps that depend on their verdicts: part of the port's suite.
#include <algorithm>
#include <array>
#include <atomic>

#include "base/random.h"
#include "fabric/transfer.h"
#include "fabric_suite.h"

namespace musubi::fabric::conformance {
namespace {

constexpr RegionId region0{0};
constexpr Verdict even = 1, odd = 2;
constexpr ProcedureId adding{0}, reversing{procedure_count_max - 1};

Task<> one_batch(Fabric& fabric, Rank peer, std::vector<Step> steps) {
  co_await transfer(fabric, peer, steps);
}

struct Addition {
  std::uint64_t offset, amount;
};
// Adds to a word. Result: its old value.
Verdict add_to_word(Call& call, const void* data) noexcept {
  Addition addition;
  if (!call.read(addition)) return malformed;
  auto* const word = call.object_at<std::uint64_t>(region0, addition.offset);
  if (word == nullptr) return malformed;
  const std::uint64_t factor = *static_cast<const std::uint64_t*>(data);
  const std::uint64_t old = std::atomic_ref(*word).fetch_add(addition.amount * factor);
  call.add(old);
  return old % 2 == 0 ? even : odd;
}

// Result: the caller and the called rank, then the arguments from the last to the first, as far as they fit.
Verdict reverse(Call& call, const void*) noexcept {
  call.add(std::array<std::uint32_t, 2>{call.caller().value, call.target().value});
  for (std::size_t i = call.arguments().size(); i != 0; --i) {
    if (!call.add(&call.arguments()[i - 1], 1)) return odd;
  }
  return even;
}

const std::uint64_t factor = 10;

}  // namespace

TEST_P(FabricSuite, ACallIsCarriedOutAtItsTarget) {
  join(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    fabric(rank).offer(adding, {&add_to_word, &factor});
  }
  const Addition addition{64, 5};
  std::array<Answer<std::uint64_t>, 3> answers{};
  std::uint64_t before = 3, after = 0;
  for (const std::uint32_t peer : {1u, 0u}) {
    run({{Rank{0}, [&] {
            return one_batch(fabric(0), Rank{peer},
                             {put(region, 64, &before, 8), call(adding, addition, answers[0]),
                              call(adding, addition, answers[1]), get(region, 64, &after, 8)});
          }}});
    EXPECT_EQ(answers[0].result, 3u);
    EXPECT_EQ(answers[0].end.verdict, odd);
    EXPECT_EQ(answers[0].end.bytes, 8u);
    EXPECT_EQ(answers[1].result, 53u);
    EXPECT_EQ(after, 103u);
    EXPECT_EQ(word(peer, 64), 103u);
  }
}

// Large and small steps, each after a verdict that did or did not hold.
TEST_P(FabricSuite, StepsDependOnTheVerdictOfTheLastCall) {
  join(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    fabric(rank).offer(adding, {&add_to_word, &factor});
  }
  constexpr std::size_t large = 40'000;
  std::vector<std::byte> source(large), taken(large), left(large, std::byte{9});
  Random random(5);
  for (auto& byte : source) byte = static_cast<std::byte>(random.next());
  const Addition nothing{64, 0};
  std::uint64_t value = 7, first = 1, old = 1, seen = 1;
  Answer<std::uint64_t> is_even{}, is_odd{}, never{{}, 99};
  for (const std::uint32_t peer : {1u, 0u}) {
    std::fill_n(memory(peer), region_bytes, std::byte{0});
    std::fill(taken.begin(), taken.end(), std::byte{0});
    first = old = seen = 1;
    run({{Rank{0}, [&] {
            return one_batch(
                fabric(0), Rank{peer},
                {if_verdict(even, put(region, 64, &value, 8)),  // no call precedes it
                 if_verdict(odd, get(region, 64, &first, 8)), call(adding, nothing, is_even),
                 if_verdict(odd, put(region, 4096, left.data(), large)),
                 if_verdict(even, put(region, 4096, source.data(), large)),
                 if_verdict(odd, get(region, 4096, left.data(), large)),
                 if_verdict(even, get(region, 4096, taken.data(), large)),
                 if_verdict(odd, swap(region, 64, &old, 77)), put(region, 64, &value, 8),
                 if_verdict(odd, call(adding, nothing, never)), call(adding, nothing, is_odd),
                 if_verdict(even, get(region, 4096, left.data(), large)), get(region, 64, &seen, 8)});
          }}});
    EXPECT_EQ(is_even.result, 0u);
    EXPECT_EQ(is_odd.result, 7u);
    EXPECT_EQ(never.result, 99u) << "left out";
    EXPECT_EQ(first, 1u);
    EXPECT_EQ(old, 1u);
    EXPECT_EQ(seen, 7u);
    EXPECT_EQ(taken, source);
    EXPECT_TRUE(std::equal(source.begin(), source.end(), memory(peer) + 4096));
    EXPECT_EQ(std::count(left.begin(), left.end(), std::byte{9}), static_cast<std::ptrdiff_t>(large));
  }
}

namespace {

struct Letter {
  std::vector<std::byte> arguments;
  std::vector<std::uint64_t> place;  // a CallEnd and the space for the result, whole words
  std::size_t room = 0;

  CallEnd& end() { return *reinterpret_cast<CallEnd*>(place.data()); }
  const std::byte* result() const { return reinterpret_cast<const std::byte*>(place.data() + 1); }
  Step step() { return call(reversing, arguments, end(), room); }
};

Letter random_letter(Random& random) {
  Letter letter;
  letter.arguments.resize(random.chance(20) ? call_argument_bytes_max : random.below(600));
  for (auto& byte : letter.arguments) byte = static_cast<std::byte>(random.next());
  letter.room = random.chance(20) ? call_result_bytes_max : 8 + random.below(700);
  letter.place.assign(1 + (letter.room + 7) / 8 + 1, ~std::uint64_t{0});
  return letter;
}

void expect_answered(Letter& letter, Rank caller, Rank target) {
  const std::size_t bytes = std::min(letter.room, 8 + letter.arguments.size());
  ASSERT_EQ(letter.end().bytes, bytes);
  EXPECT_EQ(letter.end().verdict, bytes < 8 + letter.arguments.size() ? odd : even);
  std::array<std::uint32_t, 2> ranks{};
  std::memcpy(ranks.data(), letter.result(), 8);
  EXPECT_EQ(ranks[0], caller.value);
  EXPECT_EQ(ranks[1], target.value);
  for (std::size_t i = 8; i < bytes; ++i) {
    ASSERT_EQ(letter.result()[i], letter.arguments[letter.arguments.size() - 1 - (i - 8)]) << i;
  }
  EXPECT_EQ(letter.result()[bytes], std::byte{0xff}) << "the rest of the room stays as it was";
}

Task<> write_letters(Fabric& fabric, Rank peer, std::vector<std::vector<Letter>>* batches) {
  for (std::vector<Letter>& letters : *batches) {
    std::vector<Step> steps;
    steps.reserve(letters.size());
    for (Letter& letter : letters) steps.push_back(letter.step());
    co_await transfer(fabric, peer, steps);
  }
}

}  // namespace

TEST_P(FabricSuite, ArgumentsAndResultsOfAllSizesArrive) {
  join(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    fabric(rank).offer(reversing, {&reverse, nullptr});
  }
  Random random(23);
  std::array<std::vector<std::vector<Letter>>, 2> letters;
  for (auto& batches : letters) {
    batches.resize(60);
    for (auto& batch : batches) {
      for (std::uint64_t left = 1 + random.below(12); left != 0; --left) {
        batch.push_back(random_letter(random));
      }
    }
  }
  run({{Rank{0}, [&] { return write_letters(fabric(0), Rank{1}, &letters[0]); }},
       {Rank{1}, [&] { return write_letters(fabric(1), Rank{0}, &letters[1]); }}});
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    for (auto& batch : letters[rank]) {
      for (Letter& letter : batch) expect_answered(letter, Rank{rank}, Rank{1 - rank});
    }
  }
}

namespace {

Task<> add_by_calls(Fabric& fabric, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    const Addition addition{8, 1};
    Answer<std::uint64_t> answer{};
    std::uint64_t old = 0;
    std::array<Step, 2> steps{call(adding, addition, answer), fetch_add(region0, 8, &old, 1)};
    co_await transfer(fabric, Rank{0}, steps);
  }
}

}  // namespace

TEST_P(FabricSuite, CallsMixWithAtomics) {
  constexpr std::uint32_t ranks = 3;
  const unsigned rounds = 500 * GetParam().repetitions;
  join(ranks);
  std::vector<Actor> actors;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    fabric(rank).offer(adding, {&add_to_word, &factor});
    actors.push_back({Rank{rank}, [this, rank, rounds] { return add_by_calls(fabric(rank), rounds); }});
  }
  run(std::move(actors));
  EXPECT_EQ(word(0, 8), std::uint64_t{ranks} * rounds * (factor + 1));
}

TEST_P(FabricSuite, RefusesCallsThatAreNone) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  join(2);
  fabric(0).offer(adding, {&add_to_word, &factor});
  fabric(1).offer(adding, {&add_to_word, &factor});
  Event completion;
  std::vector<std::byte> arguments(call_argument_bytes_max + 1);
  std::vector<std::uint64_t> place(2 + call_result_bytes_max / 8);
  CallEnd& end = *reinterpret_cast<CallEnd*>(place.data());
  const auto attempt = [&](Step step) {
    fabric(0).post(Rank{1}, std::span<const Step>(&step, 1), completion);
  };
  constexpr std::size_t room_max = call_result_bytes_max;
  EXPECT_DEATH(attempt(call(reversing, {}, end, 8)), "internal error");
  EXPECT_DEATH(attempt(call(ProcedureId{procedure_count_max}, {}, end, 8)), "internal error");
  EXPECT_DEATH(attempt(call(adding, arguments, end, 8)), "internal error");
  EXPECT_DEATH(attempt(call(adding, {}, end, room_max + 1)), "internal error");
}

}  // namespace musubi::fabric::conformance
