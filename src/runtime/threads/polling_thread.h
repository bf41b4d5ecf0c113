// The polling thread of a rank (sync/background.h): it sleeps until another rank asks for a release, or until
// the rank's threads have not synchronised for a while.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "fabric/fabric.h"
#include "runtime/threads/request_bell.h"
#include "sync/background.h"
#include "sync/flag_order.h"
#include "trace/wait_records.h"

namespace musubi::runtime {

class ThreadExecutor;

class PollingThread {
 public:
  // `bell`: other ranks ring it, and this thread sleeps on it. `interval_ns`: time without synchronisation
  // until the first poll. `board`: the waits of the rank's threads, or null.
  PollingThread(fabric::Fabric& fabric, sync::FlagOrder& flags, coherence::Protocol& protocol,
                sync::RankActivity& activity, trace::Counters& counters, RequestBell& bell,
                std::uint64_t interval_ns, const trace::WaitBoard* board);
  ~PollingThread();

  // Starts the thread, which blocks signals if the caller does.
  void start();
  // All threads of this rank have synchronised with all other ranks. Cheap. The first call enables polls.
  void note_synchronisation() noexcept {
    synchronisations_.store(synchronisations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // A thread has released writes. Cheap.
  void note_release() noexcept {
    releases_.store(releases_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  void work();
  bool answer();
  bool sleep_until(std::uint64_t deadline_ns);
  std::uint64_t poll_if_due(std::uint64_t interval_ns);
  enum class Due : std::uint8_t { no, rarely, yes };
  Due is_due();
  std::uint32_t running_threads() const;

  fabric::Fabric& fabric_;
  sync::FlagOrder& flags_;
  sync::RankActivity& activity_;
  trace::Counters& counters_;
  sync::Background background_;
  RequestBell& bell_;
  const std::uint64_t interval_ns_;
  const trace::WaitBoard* const board_;
  std::atomic<std::uint64_t> synchronisations_{0};
  std::uint64_t seen_synchronisations_ = 0;
  std::atomic<std::uint64_t> releases_{0};
  std::uint64_t seen_calls_ = 0;
  std::uint64_t seen_faults_ = 0;
  ThreadExecutor* executor_ = nullptr;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace musubi::runtime
