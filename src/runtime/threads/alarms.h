// Ends waits at their deadlines. The first such wait starts the thread for it.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

#include "fabric/fabric.h"
#include "remote_lock/queue_lock.h"
#include "trace/counters.h"

namespace musubi::runtime {

class Alarms {
 public:
  Alarms(fabric::Fabric& fabric, trace::Counters& counters) : fabric_(fabric), counters_(counters) {}
  // REQUIRES: no thread waits.
  ~Alarms();
  Alarms(const Alarms&) = delete;

  // Ends the wait at `deadline_ns` of os::monotonic_ns(), unless cancel() is called first. Any thread.
  void set(std::uint64_t deadline_ns, remote_lock::Grants::Expiry expiry);
  void cancel(std::uint64_t deadline_ns, remote_lock::Grants::Expiry expiry);

  // How long the thread sleeps: until the deadline, but at most an hour. The standard library adds the
  // duration to its clock's time, and a sum that overflows would be over at once.
  static constexpr std::chrono::nanoseconds sleep_before(std::uint64_t deadline_ns, std::uint64_t now_ns) {
    constexpr std::uint64_t longest_ns = 3'600'000'000'000;
    if (deadline_ns <= now_ns) return std::chrono::nanoseconds(0);
    return std::chrono::nanoseconds(std::min(deadline_ns - now_ns, longest_ns));
  }

 private:
  void work();

  fabric::Fabric& fabric_;
  trace::Counters& counters_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::multimap<std::uint64_t, remote_lock::Grants::Expiry> due_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace musubi::runtime
