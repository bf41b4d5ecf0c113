// Synchronisation between the threads of all ranks: barriers, locks, flushes and atomic operations.
#pragma once

#include <memory>
#include <mutex>

#include "remote_lock/queue_lock.h"
#include "runtime/api/synchronization.h"
#include "runtime/job/flag_wait.h"
#include "runtime/job/job_barrier.h"
#include "runtime/job/job_devices.h"
#include "runtime/job/job_threads.h"
#include "runtime/job/split_atomics.h"
#include "runtime/threads/polling_thread.h"
#include "sync/clock.h"
#include "sync/flag_order.h"
#include "sync/lock_table.h"

namespace musubi::runtime {

class JobSynchronization final : public Synchronization {
 public:
  JobSynchronization(JobContext& job, JobDevices& devices, JobThreads& threads, Words& words,
                     coherence::Protocol& protocol, remote_lock::Grants& grants);

  void barrier(BarrierPayload& payload) override {
    if (job_.ranks > 1) barrier_.pass(payload, polling_thread_.get());
  }
  void last_barrier() override {
    if (job_.ranks > 1) barrier_.pass_last();
  }
  void set_release_listener(ReleaseListener* listener) override { barrier_.set_release_listener(listener); }
  StoreBound stores_of(const RegionCode& code, const void* frame) override {
    return job_.one_memory ? StoreBound{} : barrier_.stores_of(code, frame);
  }
  void set_allocations(const Allocations* allocations) override { barrier_.set_allocations(allocations); }
  void begin_region(const StoreBound& stores) override {
    if (!job_.one_memory) barrier_.begin_region(stores);
  }
  void end_region() override {
    if (!job_.one_memory) barrier_.end_region();
  }
  void run_between_regions() override;
  void run_beside_barriers() override;
  bool is_between_regions() const noexcept override {
    return !job_.one_memory && job_.self != Rank{0} && barrier_.is_between_regions();
  }
  void lock(LockId lock) override;
  bool try_lock(LockId lock) override;
  void unlock(LockId lock) override;
  ProcessorLocks* processor_locks() noexcept override {
    return job_.one_memory ? &processor_locks_ : nullptr;
  }
  void flush() override;
  void release_range(const void* address, std::size_t bytes) override;
  void release(sync::Channel channel) override;
  void acquire(sync::Channel channel) override;
  void expect_flags() override;
  void suspect_flags() override;
  AtomicValue atomic(std::uintptr_t address, const AtomicOperation& operation) override;

  sync::FlagOrder& flags() noexcept { return flags_; }
  // For locks of other kinds. show_what_lock_covers(): call after one is taken. hand_over(): `unlock` is a
  // task that releases all writes, then the lock.
  void show_what_lock_covers();
  void hand_over(Task<> unlock);

  // The background thread, if settings want one. The new thread blocks signals if the caller does. Call
  // stop_background() before any other thread of the runtime ends.
  void start_background();
  void stop_background() noexcept { polling_thread_.reset(); }

 private:
  JobContext& job_;
  JobDevices& devices_;
  JobThreads& threads_;
  coherence::Protocol& protocol_;
  sync::LockTable locks_;
  ProcessorLocks processor_locks_;  // used instead of the table in one memory
  SplitAtomics split_atomics_;
  sync::Clock clock_;
  sync::FlagOrder flags_;
  RequestBell bell_;
  JobBarrier barrier_;
  FlagWait flag_wait_;
  const bool relaxed_atomics_;    // setting atomic_order
  std::mutex joining_lone_rank_;  // guards the next
  bool has_joined_lone_rank_ = false;
  std::unique_ptr<PollingThread> polling_thread_;  // null: no background thread
};

}  // namespace musubi::runtime
