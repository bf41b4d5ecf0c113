// Segments of a job behind those of its start.
#pragma once

#include <atomic>

#include "runtime/job_context.h"
#include "runtime/job_devices.h"
#include "runtime/segments.h"
#include "runtime/synchronization.h"

namespace musubi::runtime {

class JobSegments final : public Segments {
 public:
  JobSegments(JobContext& job, JobDevices& devices, Synchronization& synchronization)
      : job_(job), devices_(devices), synchronization_(synchronization), next_(job.plan.added_base) {}

  Result<const vm::Segment*> add(const SegmentRequest& request) override;
  std::size_t bytes_left() const noexcept override;

 private:
  vm::Segment segment_for(const SegmentRequest& request) const;
  void compare_with_rank_0(const vm::Segment& segment);

  JobContext& job_;
  JobDevices& devices_;
  Synchronization& synchronization_;
  std::atomic<std::uintptr_t> next_;  // where the next segment may begin
};

}  // namespace musubi::runtime
