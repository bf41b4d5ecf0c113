// Segments that a job adds after its start.
#pragma once

#include <atomic>

#include "coherence/entry/entry_consistency.h"
#include "runtime/api/segments.h"
#include "runtime/api/synchronization.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_devices.h"
#include "runtime/job/job_threads.h"

namespace musubi::runtime {

class JobSegments final : public Segments {
 public:
  // `page_managers` null: no segment can have the policy `entry`.
  JobSegments(JobContext& job, JobDevices& devices, JobThreads& threads, coherence::Protocol& protocol,
              Synchronization& synchronization, coherence::PageManagers* page_managers)
      : job_(job),
        devices_(devices),
        threads_(threads),
        protocol_(protocol),
        synchronization_(synchronization),
        page_managers_(page_managers),
        next_(job.plan.added_base) {}

  Result<void> may_be_unprotected(const SegmentRequest& request) const override;
  Result<const vm::Segment*> add(const SegmentRequest& request) override;
  Result<void> change_page_manager(const void* address, std::size_t bytes, Rank manager) override;
  Result<void> set_home(const void* address, std::size_t bytes, Rank home) override;
  std::size_t bytes_left() const noexcept override;

 private:
  std::size_t block_bytes_of(const SegmentRequest& request) const noexcept;
  vm::Segment segment_for(const SegmentRequest& request) const;
  Result<void> fits(const vm::Segment& wanted, const SegmentRequest& request) const;
  void compare_with_rank_0(const vm::Segment& segment);
  void meet();

  JobContext& job_;
  JobDevices& devices_;
  JobThreads& threads_;
  coherence::Protocol& protocol_;
  Synchronization& synchronization_;
  coherence::PageManagers* const page_managers_;
  std::atomic<std::uintptr_t> next_;  // lowest address for the next segment
};

}  // namespace musubi::runtime
