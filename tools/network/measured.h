// Measurements of the network by `musubi doctor --hosts`, as JSON: for people, and for later jobs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/fabric.h"

namespace musubi::tools::network {

// Gets that `by` makes at `from`.
struct MeasuredPair {
  std::string by, from;               // hosts, as the user calls them
  std::uint64_t asleep_ns = 0;        // median round trip of 8 bytes while no thread of the target waits
  std::uint64_t awake_ns = 0;         // the same while one waits
  std::uint64_t bits_per_second = 0;  // bandwidth of large gets
};

struct Measured {
  std::string fabric;  // the driver: tcp, ofi
  std::vector<MeasuredPair> pairs;
};

// REQUIRES: `values` is not empty.
std::uint64_t median(std::vector<std::uint64_t> values);

// One JSON object.
std::string as_json(const Measured& measured);
// The object, or a larger object with it as `network`. Errors: the text is not such an object; the message
// says where parsing fails.
Result<Measured> parse(std::string_view json);

// The medians over the pairs among `hosts`; over all pairs when that is empty. Errors: no such pair.
Result<fabric::Distance> distance_among(const Measured& measured, std::span<const std::string> hosts);

}  // namespace musubi::tools::network
