// Calls from this rank's threads to other ranks, and from other ranks to this one.
#pragma once

#include "runtime/api/remote_calls.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_threads.h"
#include "runtime/job/remote_call_service.h"

namespace musubi::runtime {

class JobRemoteCalls final : public RemoteCalls {
 public:
  JobRemoteCalls(JobContext& job, fabric::Fabric& fabric, JobThreads& threads);

  void serve(ProcedureId id, Procedure& procedure) noexcept override { service_.serve(id, procedure); }
  Answer call(Rank callee, ProcedureId id, std::span<const std::byte> request,
              std::span<std::byte> reply) override;
  Task<Answer> ask(Rank callee, ProcedureId id, std::span<const std::byte> request,
                   std::span<std::byte> reply) override;
  std::int64_t call_others(ProcedureId id, std::span<const std::byte> request) override;

  // As RemoteCallService::keep_up. On the service thread.
  void keep_up() { service_.keep_up(); }

 private:
  void begin_thread();

  const JobContext& job_;
  JobThreads& threads_;
  RemoteCallService service_;
};

}  // namespace musubi::runtime
