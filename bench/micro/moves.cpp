#include "moves.h"

#include <atomic>

#include "base/check.h"
#include "rows.h"

namespace musubi::bench {

std::vector<double> time_moves(fabric::Fabric& fabric, const Target& target, const Moves& moves,
                               std::size_t rounds) {
  using namespace fabric;
  const std::size_t count = moves.count, bytes = moves.bytes;
  std::vector<std::byte> local(bytes * count, moves.verb == Verb::put ? std::byte{1} : std::byte{});
  std::vector<Step> steps(count);
  std::vector<Event> completions(count);
  const std::atomic<bool> never{false};
  std::vector<double> samples;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t offset = (round * count + i) * move_block_bytes % target.bytes;
      steps[i] = Step{moves.verb, target.region, target.first + offset, local.data() + i * bytes, bytes};
      completions[i].reset();
    }
    const double begin = now_ns();
    for (std::size_t i = 0; i < count; ++i) {
      while (fabric.post(target.peer, {&steps[i], 1}, completions[i]) == Outcome::busy) fabric.progress();
    }
    for (const Event& completion : completions) {
      while (!completion.is_set()) {
        if (!fabric.progress()) fabric.wait(never);
      }
    }
    samples.push_back((now_ns() - begin) / static_cast<double>(count));
  }
  MUSUBI_CHECK(local.back() == std::byte{1});
  return samples;
}

}  // namespace musubi::bench
