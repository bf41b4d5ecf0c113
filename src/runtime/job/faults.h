// Resolves a fault of the user view: the protocol fetches the block, on the faulting thread.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/job/job_context.h"
#include "runtime/job/job_fabric.h"
#include "runtime/job/job_room.h"
#include "runtime/job/job_threads.h"
#include "runtime/job/job_words.h"
#include "sync/flag_order.h"
#include "vm/vm.h"

namespace musubi::runtime {

class Faults final : public vm::FaultSink {
 public:
  explicit Faults(JobContext& job) : job_(job) {}

  // Call before the first fault: the drivers need their sink before the protocol exists.
  void resolve_by(sync::FlagOrder& flags, JobThreads& threads, JobWords& words, JobRoom& room) noexcept {
    flags_ = &flags;
    threads_ = &threads;
    words_ = &words;
    room_ = &room;
    run_bytes_max_ = std::max<std::size_t>(job_.settings.run_bytes_max, far_run_bytes_max(job_));
  }

  bool on_fault(const vm::Fault& fault) noexcept override;
  bool may_execute(BlockId block) noexcept override;

 private:
  void watch_memory(BlockId block) noexcept;

  JobContext& job_;
  sync::FlagOrder* flags_ = nullptr;
  JobThreads* threads_ = nullptr;
  JobWords* words_ = nullptr;
  JobRoom* room_ = nullptr;
  std::size_t run_bytes_max_ = 0;
};

}  // namespace musubi::runtime
