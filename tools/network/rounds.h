// Which pairs of hosts measure at the same time. No I/O.
#pragma once

#include <cstdint>
#include <vector>

namespace musubi::tools::network {

// `by` gets bytes from `from`.
struct Pair {
  std::uint32_t by, from;
  friend bool operator==(const Pair&, const Pair&) = default;
};

// No host twice.
using Round = std::vector<Pair>;

// So many hosts measure each with each; of more, each with its neighbours in the list and with the first.
inline constexpr std::uint32_t all_pairs_max = 8;

// Every pair in both directions, none twice.
std::vector<Round> rounds_of(std::uint32_t hosts);

}  // namespace musubi::tools::network
