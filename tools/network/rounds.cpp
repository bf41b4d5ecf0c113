#include "network/rounds.h"

#include <algorithm>

namespace musubi::tools::network {
namespace {

// Round-robin tournament of unordered pairs: one host keeps its place, the other hosts rotate around it.
std::vector<Round> all_with_all(std::uint32_t hosts) {
  const std::uint32_t places = hosts + hosts % 2;  // an odd number gets an empty place
  std::vector<Round> rounds;
  for (std::uint32_t turn = 0; turn + 1 < places; ++turn) {
    Round round;
    for (std::uint32_t i = 0; i < places / 2; ++i) {
      const std::uint32_t a = i == 0 ? places - 1 : (turn + i) % (places - 1);
      const std::uint32_t b = (turn + places - 1 - i) % (places - 1);
      if (a < hosts && b < hosts) round.push_back({a, b});
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<Round> neighbours_and_first(std::uint32_t hosts) {
  std::vector<Round> rounds(3);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    const bool is_odd_end = i + 1 == hosts && i % 2 == 0;
    rounds[is_odd_end ? 2 : i % 2].push_back({i, (i + 1) % hosts});
  }
  for (std::uint32_t i = 2; i + 1 < hosts; ++i) rounds.push_back({{0, i}});
  std::erase_if(rounds, [](const Round& round) { return round.empty(); });
  return rounds;
}

}  // namespace

std::vector<Round> rounds_of(std::uint32_t hosts) {
  if (hosts < 2) return {};
  std::vector<Round> rounds = hosts <= all_pairs_max ? all_with_all(hosts) : neighbours_and_first(hosts);
  const std::size_t one_way = rounds.size();
  for (std::size_t i = 0; i < one_way; ++i) {
    Round back = rounds[i];
    for (Pair& pair : back) std::swap(pair.by, pair.from);
    rounds.push_back(std::move(back));
  }
  return rounds;
}

}  // namespace musubi::tools::network
