// Adds elapsed time to a counter.
#pragma once

#include <cstdint>

#include "os/clock.h"
#include "trace/counters.h"

namespace musubi::runtime {

// Adds the time of its scope to a counter.
class TimeSpent {
 public:
  TimeSpent(trace::Counters& counters, trace::Counter counter)
      : counters_(counters), counter_(counter), begin_(os::monotonic_ns()) {}
  TimeSpent(const TimeSpent&) = delete;
  ~TimeSpent() { counters_.add(counter_, os::monotonic_ns() - begin_); }

 private:
  trace::Counters& counters_;
  trace::Counter counter_;
  std::uint64_t begin_;
};

}  // namespace musubi::runtime
