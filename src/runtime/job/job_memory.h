// Shared memory of a rank, as the program's mmap and mprotect and the front end use it.
#pragma once

#include "runtime/api/checks.h"
#include "runtime/api/memory.h"
#include "runtime/job/job_devices.h"
#include "runtime/job/job_synchronization.h"
#include "runtime/job/job_words.h"
#include "runtime/job/static_data.h"

namespace musubi::runtime {

class JobMemory final : public Memory {
 public:
  JobMemory(JobContext& job, JobDevices& devices, StaticData& static_data, coherence::Protocol& protocol,
            JobWords& words, JobSynchronization& synchronization, Checks& checks)
      : job_(job),
        devices_(devices),
        static_data_(static_data),
        protocol_(protocol),
        words_(words),
        synchronization_(synchronization),
        checks_(checks) {}

  const Layout& layout() const noexcept override { return job_.plan.layout; }
  bool is_shared(std::uintptr_t address) const noexcept override {
    return job_.ranks > 1 && job_.plan.space.segment_at(address) != nullptr;
  }
  bool is_one() const noexcept override { return job_.one_memory; }
  void share_globals() override;
  void share_library(std::span<const SharedRange> ranges, std::span<const PrivateBytes> private_bytes,
                     bool own_bytes_win) override {
    static_data_.share_library(ranges, private_bytes, own_bytes_win);
  }
  void allow_code(std::uintptr_t address) override;
  void store_zeros(void* address, std::size_t bytes) override;
  bool give_back(std::uintptr_t address, std::size_t bytes) noexcept override;
  void touch(const void* address, std::size_t bytes, bool for_writing) override;
  Result<void> become_copy(CopySource& source) override;

 private:
  bool is_unprotected(std::uintptr_t address) const noexcept;
  bool is_untouched(BlockId block, std::uint64_t data) const noexcept;

  JobContext& job_;
  JobDevices& devices_;
  StaticData& static_data_;
  coherence::Protocol& protocol_;
  JobWords& words_;
  JobSynchronization& synchronization_;
  Checks& checks_;
  bool is_copy_ = false;  // in a child made by fork
};

}  // namespace musubi::runtime
