// Accesses that the program announces before it makes them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "checks/sink.h"
#include "runtime/api/checks.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_room.h"
#include "runtime/job/job_threads.h"
#include "runtime/job/verification.h"
#include "sync/openings.h"

namespace musubi::runtime {

class JobChecks final : public Checks, public checks::CheckSink {
 public:
  // `states`, which may be null, follow the pages. `verification` may be null.
  JobChecks(JobContext& job, JobThreads& threads, coherence::Protocol& protocol, sync::FlagOrder& flags,
            JobRoom& room, const vm::BlockStates* states, Verification* verification);

  void open_all(std::span<const AddressRange> ranges, vm::Access wanted) override;
  void overwrite(AddressRange range) override;
  void written(AddressRange range) override;
  void objects_opened() override;

  // Of compiled code.
  void before_reading(AddressRange range) noexcept override;
  void before_writing(AddressRange range) noexcept override;
  void before_storing(AddressRange range) noexcept override;
  void before_overwriting(AddressRange range) noexcept override;
  void after_writing(AddressRange range) noexcept override { written(range); }
  [[noreturn]] void on_unknown_entry(unsigned entry) noexcept override;

 private:
  void check(Touch touch, AddressRange range) noexcept;
  std::size_t fill_batch(std::span<const AddressRange> ranges, std::size_t& passed,
                         std::span<AddressRange> batch);
  template <class Make>
  void run(Make make);
  void open_by(Task<> (sync::Openings::*way)(AddressRange, bool), AddressRange range);

  JobContext& job_;
  JobThreads& threads_;
  sync::FlagOrder& flags_;
  JobRoom& room_;
  const std::size_t batch_bytes_;  // that may be opened before the next look for room
  sync::Openings openings_;
  Verification* const verification_;
  std::atomic<std::uint64_t> loaded_{0};  // objects that objects_opened() has looked at
};

}  // namespace musubi::runtime
