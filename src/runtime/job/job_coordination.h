// Reader-writer locks and conditions of a rank's threads, and values that ranks bring together.
#pragma once

#include "remote_lock/queue_lock.h"
#include "runtime/api/coordination.h"
#include "runtime/job/job_synchronization.h"
#include "runtime/threads/alarms.h"
#include "sync/collectives.h"
#include "sync/conditions.h"
#include "sync/reader_writer_locks.h"
#include "sync/thread_barriers.h"
#include "sync/wait_records.h"

namespace musubi::runtime {

class JobCoordination final : public Coordination, private sync::Collectives::MismatchListener {
 public:
  JobCoordination(JobContext& job, JobDevices& devices, JobThreads& threads, coherence::Protocol& protocol,
                  remote_lock::Grants& grants, JobSynchronization& synchronization);

  void lock_shared(RwLockId lock) override { take(lock, sync::Share::reading); }
  void lock_exclusive(RwLockId lock) override { take(lock, sync::Share::writing); }
  bool try_lock_shared(RwLockId lock) override { return try_take(lock, sync::Share::reading); }
  bool try_lock_exclusive(RwLockId lock) override { return try_take(lock, sync::Share::writing); }
  void unlock_shared(RwLockId lock) override { give_back(lock, sync::Share::reading); }
  void unlock_exclusive(RwLockId lock) override { give_back(lock, sync::Share::writing); }

  bool wait(ConditionId condition, LockId lock, std::uint64_t timeout_ns) override;
  void signal(ConditionId condition) override;
  void broadcast(ConditionId condition) override;

  bool pass_barrier(std::uint64_t name, std::uint32_t threads) override;

  void announce_sleep(const void* word, Sleep& sleep) override;
  void sleep(const void* word, Sleep& sleep, std::uint64_t timeout_ns) override;
  void withdraw_sleep(const void* word, Sleep& sleep) override;
  void wake_one(const void* word) override;
  void wake_all(const void* word) override;

  std::size_t gather_bytes_max() const noexcept override { return collectives_.bytes_max(); }
  void gather(const CollectiveTerms& terms, const void* mine, std::span<std::byte> all) override;
  void begin_barrier(const CollectiveTerms& terms) noexcept override;
  void end_barrier() noexcept override { collectives_.end_barrier(); }
  void set_mismatch_writer(MismatchWriter& writer) noexcept override { writer_ = &writer; }

 private:
  void on_mismatch(const sync::CollectiveTerms& own, Rank other,
                   const sync::CollectiveTerms& theirs) noexcept override;
  void take(RwLockId lock, sync::Share share);
  bool try_take(RwLockId lock, sync::Share share);
  void give_back(RwLockId lock, sync::Share share);

  JobContext& job_;
  JobThreads& threads_;
  JobSynchronization& synchronization_;
  sync::WaitRecords records_;
  sync::ReaderWriterLocks locks_;
  sync::Conditions conditions_;
  sync::ThreadBarriers barriers_;
  Alarms alarms_;
  sync::Collectives collectives_;
  MismatchWriter* writer_ = nullptr;
};

}  // namespace musubi::runtime
