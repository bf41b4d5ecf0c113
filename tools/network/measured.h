// What `musubi doctor --hosts` has measured of the network, as JSON: for people, and for later runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/fabric.h"

namespace musubi::tools::network {

// Of gets that `by` makes at `from`.
struct MeasuredPair {
  std::string by, from;         // hosts, as the user calls them
  std::uint64_t asleep_ns = 0;  // round trip of 8 bytes, while no thread of the target waits: the median
  std::uint64_t awake_ns = 0;   // while one does
  std::uint64_t bits_per_second = 0;  // of large gets
};

struct Measured {
  std::string fabric;  // the driver: tcp, ofi
  std::vector<MeasuredPair> pairs;
};

// REQUIRES: there are values.
std::uint64_t median(std::vector<std::uint64_t> values);

// One JSON object.
std::string as_json(const Measured& measured);
// The object, or a larger one with it as `network`. Errors: it is none; the text says where it goes wrong.
Result<Measured> parse(std::string_view json);

// The medians over the pairs among `hosts`; over all pairs when that is empty. Errors: there is no such pair.
Result<fabric::Distance> distance_among(const Measured& measured, std::span<const std::string> hosts);

}  // namespace musubi::tools::network
