// Whom a rank asks for tasks: the rank that gave some last; ranks of its host; then, of two random ranks, the
// one with more tasks. After too many refusals it leaves its number at its neighbours, log2 of the number of
// ranks, and waits (lifelines: Saraswat and others 2011).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/random.h"

namespace musubi::task_stealing {

// One thread.
class Victims {
 public:
  Victims(Rank self, std::uint32_t ranks, std::vector<Rank> near, std::uint64_t seed)
      : self_(self), ranks_(ranks), near_(std::move(near)), random_(seed), loads_(ranks) {}

  // None: wait for the neighbours.
  std::optional<Rank> next() {
    if (refusals_ == 0 && last_giver_) return last_giver_;
    const std::uint32_t near = refusals_ - (last_giver_ ? 1 : 0);
    if (near < near_.size()) return near_[(first_near_ + near) % near_.size()];
    if (near - near_.size() >= far_tries) return std::nullopt;
    const Rank a = random_rank(), b = random_rank();
    return loads_[a.value] >= loads_[b.value] ? a : b;
  }
  void note(Rank victim, std::uint32_t load_left, bool gave) {
    loads_[victim.value] = load_left;
    if (gave) {
      last_giver_ = victim;
      refusals_ = 0;
    } else if (++refusals_ == 1 && !near_.empty()) {
      first_near_ = static_cast<std::uint32_t>(random_.below(near_.size()));
    }
  }
  // The rank asks again from the beginning.
  void begin() { refusals_ = 0; }

  std::uint32_t neighbours() const { return static_cast<std::uint32_t>(std::bit_width(ranks_ - 1)); }
  Rank neighbour(std::uint32_t i) const { return Rank{(self_.value + (1u << i)) % ranks_}; }

 private:
  static constexpr std::size_t far_tries = 2;

  Rank random_rank() {
    const auto other = static_cast<std::uint32_t>(random_.below(ranks_ - 1));
    return Rank{other < self_.value ? other : other + 1};
  }

  const Rank self_;
  const std::uint32_t ranks_;
  const std::vector<Rank> near_;
  Random random_;
  std::vector<std::uint32_t> loads_;  // as far as known
  std::optional<Rank> last_giver_;
  std::uint32_t refusals_ = 0;
  std::uint32_t first_near_ = 0;
};

}  // namespace musubi::task_stealing
