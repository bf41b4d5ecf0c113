// Many mixed batches in flight from many threads, as many as the fabric accepts: part of the port's suite.
#include <deque>

#include "fabric/transfer.h"
#include "fabric_suite.h"
#include "mixed_batches.h"

namespace musubi::fabric::conformance {
namespace {

constexpr std::uint32_t threads = 8;
constexpr std::size_t batches_per_thread = 64;
constexpr std::size_t stretch_bytes = 2048;

struct Poster {
  Poster(std::uint64_t number) : random(number) {
    for (std::size_t i = 0; i < batches_per_thread; ++i) {
      batches.emplace_back((number * batches_per_thread + i) * stretch_bytes, stretch_bytes);
    }
  }

  Random random;
  std::deque<MixedBatch> batches;
  unsigned wrong = 0;
};

Task<> post_all_at_once(Fabric& fabric, Rank peer, unsigned rounds, Poster* poster) {
  for (unsigned round = 0; round < rounds; ++round) {
    std::deque<Event> completions(batches_per_thread);
    for (std::size_t i = 0; i < batches_per_thread; ++i) {
      MixedBatch& batch = poster->batches[i];
      batch.draw(poster->random);
      Outcome outcome = fabric.post(peer, batch.steps(), completions[i]);
      for (unsigned attempt = 0; outcome == Outcome::busy; ++attempt) {
        co_await pause(attempt);
        outcome = fabric.post(peer, batch.steps(), completions[i]);
      }
      if (outcome == Outcome::done) completions[i].set();
    }
    for (Event& completion : completions) co_await completion;
    for (const MixedBatch& batch : poster->batches) poster->wrong += batch.wrong();
  }
}

}  // namespace

TEST_P(FabricSuite, ManyMixedBatchesFromManyThreads) {
  static_assert(threads * batches_per_thread * stretch_bytes == region_bytes);
  join(2);
  const unsigned rounds = 20 + GetParam().repetitions;
  std::deque<Poster> posters;
  std::vector<Actor> actors;
  for (const std::uint32_t rank : {0u, 1u}) {
    fabric(rank).offer(exchanging, {&exchange_bytes, nullptr});
    for (std::uint32_t thread = 0; thread < (rank == 0 ? threads : 2); ++thread) {
      Poster& poster = posters.emplace_back(thread);
      actors.push_back({Rank{rank}, [this, rank, rounds, &poster] {
                          return post_all_at_once(fabric(rank), Rank{1 - rank}, rounds, &poster);
                        }});
    }
  }
  run(std::move(actors));
  for (std::size_t i = 0; i < posters.size(); ++i) {
    EXPECT_EQ(posters[i].wrong, 0u);
    for (const MixedBatch& batch : posters[i].batches) {
      ASSERT_TRUE(batch.is_in(memory(i < threads ? 1 : 0)));
    }
  }
}

}  // namespace musubi::fabric::conformance
