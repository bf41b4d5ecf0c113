// Entries and versions for tests of the rules.
#pragma once

#include <cstdint>

#include "coherence/core/entry.h"
#include "coherence/core/version.h"

namespace musubi::coherence::rules {

constexpr LogicalTime at(std::uint64_t time) {
  return LogicalTime{time};
}
constexpr Version version(std::uint64_t write_ts, std::uint64_t read_ts) {
  return {at(write_ts), at(read_ts)};
}
constexpr Entry in_state(State state) {
  Entry e{};
  e.copy.state = state;
  return e;
}
// Holds version `write_ts` until `read_ts`.
constexpr Entry holding(std::uint64_t write_ts, std::uint64_t read_ts) {
  Entry e = in_state(State::readable_clean);
  e.held.write_ts = at(write_ts);
  e.held.read_ts = at(read_ts);
  return e;
}

}  // namespace musubi::coherence::rules
