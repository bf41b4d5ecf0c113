// The thread of a rank that works in the background (sync/background.h): it sleeps until another rank asks,
// or until the rank's threads have not synchronised for a while.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "fabric/fabric.h"
#include "sync/background.h"
#include "sync/flag_order.h"
#include "trace/wait_records.h"

namespace musubi::runtime {

class ThreadExecutor;

class Keeper final : public sync::Bell {
 public:
  // `board`: what the rank's threads wait for, or null. `interval_ns`: without synchronisation, until it
  // looks for the first time. The word of flag_order.h that counts requests lies at `asked_offset` in the
  // control region of each rank.
  Keeper(fabric::Fabric& fabric, sync::FlagOrder& flags, coherence::Protocol& protocol, sync::Stand& stand,
         trace::Counters& counters, std::uint64_t interval_ns, std::uint64_t asked_offset,
         const trace::WaitBoard* board);
  ~Keeper();

  // Begins to sleep and work. The new thread takes no signals if the caller has blocked them.
  void start();
  // All threads of this rank have synchronised with all other ranks. Cheap. The first call lets turns begin.
  void note_synchronisation() noexcept {
    synchronisations_.store(synchronisations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // A thread has released something. Cheap.
  void note_release() noexcept {
    releases_.store(releases_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void ring(Rank peer) noexcept override;

 private:
  void work();
  bool answer();
  bool sleep_until(std::uint64_t deadline_ns);
  std::uint64_t turn_if_due(std::uint64_t interval_ns);
  enum class Due : std::uint8_t { no, rarely, yes };
  Due is_due();
  std::uint32_t running_threads() const;
  const std::atomic<std::uint32_t>* asked_word(Rank rank) noexcept;

  fabric::Fabric& fabric_;
  sync::FlagOrder& flags_;
  sync::Stand& stand_;
  trace::Counters& counters_;
  sync::Background background_;
  const std::uint64_t interval_ns_;
  const std::uint64_t asked_offset_;
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
