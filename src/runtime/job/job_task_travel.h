// Tasks that travel: the ports of task stealing in a job, and the thread that assists the rank.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "runtime/api/remote_calls.h"
#include "runtime/api/task_travel.h"
#include "runtime/job/job_devices.h"
#include "runtime/job/job_remote_calls.h"
#include "runtime/job/job_synchronization.h"
#include "runtime/job/job_threads.h"
#include "task_stealing/signature_order.h"

namespace musubi::runtime {

class JobTaskTravel final : public TaskTravel,
                            private Procedure,
                            private task_stealing::Calls,
                            private task_stealing::Bell {
 public:
  JobTaskTravel(JobContext& job, JobDevices& devices, JobThreads& threads, coherence::Protocol& protocol,
                JobSynchronization& synchronization, JobRemoteCalls& calls);
  ~JobTaskTravel() { stop(); }

  bool begin(task_stealing::LocalTasks& tasks) override;
  task_stealing::Stealing& stealing() noexcept override { return *stealing_; }
  std::uint64_t come() override;
  void pass_on(std::uint64_t meeting) override;

  // Before other threads of the runtime end.
  void stop() noexcept;

 private:
  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
  Task<task_stealing::Calls::Answer> ask(Rank callee, std::span<const std::byte> request,
                                         std::span<std::byte> answer) override;
  void ring() noexcept override;
  void work();

  JobContext& job_;
  JobDevices& devices_;
  JobThreads& threads_;
  coherence::Protocol& protocol_;
  JobSynchronization& synchronization_;
  JobRemoteCalls& calls_;
  std::unique_ptr<task_stealing::SignatureOrder> order_;
  std::unique_ptr<task_stealing::Stealing> stealing_;
  std::atomic<std::uint32_t> rings_{0};  // the assistant sleeps on it
  std::atomic<bool> sleeps_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace musubi::runtime
