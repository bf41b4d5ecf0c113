// Decides which pairs of hosts measure at the same time. No I/O.
#pragma once

#include <cstdint>
#include <vector>

namespace musubi::tools::network {

// `by` gets bytes from `from`.
struct Pair {
  std::uint32_t by, from;
  friend bool operator==(const Pair&, const Pair&) = default;
};

// Each host occurs at most once.
using Round = std::vector<Pair>;

// Up to this many hosts, each measures with each; above it, each measures with its neighbours in the list and
// with the first host.
inline constexpr std::uint32_t all_pairs_max = 8;

// Every pair in both directions, each exactly once.
std::vector<Round> rounds_of(std::uint32_t hosts);

}  // namespace musubi::tools::network
