// The composition root: constructs the parts of a rank, in order, and owns them.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "coherence/protocol.h"
#include "remote_lock/queue_lock.h"
#include "runtime/api/runtime.h"
#include "runtime/job/faults.h"
#include "runtime/job/job_calls.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_coordination.h"
#include "runtime/job/job_devices.h"
#include "runtime/job/job_ending.h"
#include "runtime/job/job_global_memory.h"
#include "runtime/job/job_memory.h"
#include "runtime/job/job_messages.h"
#include "runtime/job/job_policies.h"
#include "runtime/job/job_room.h"
#include "runtime/job/job_segments.h"
#include "runtime/job/job_synchronization.h"
#include "runtime/job/job_threads.h"
#include "runtime/job/job_words.h"
#include "runtime/job/service_thread.h"
#include "runtime/job/static_data.h"
#include "runtime/job/statistics.h"

namespace musubi::runtime {

// The first base of JobRuntime: Runtime refers to it.
struct OwnContext {
  JobContext job;
};

class JobRuntime final : private OwnContext, public Runtime {
 public:
  JobRuntime(const config::Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
             AddressPlan plan, std::span<const SharedRange> globals,
             std::span<const PrivateBytes> private_bytes, bool one_memory);
  ~JobRuntime() override;
  // The part of start() that can fail.
  Result<void> open();

 private:
  // The parts that use the protocol, in order of dependence.
  struct Parts {
    Parts(JobContext& job, JobDevices& devices, StaticData& static_data, coherence::Protocol& protocol,
          remote_lock::Grants& grants, coherence::PageManagers* page_managers,
          const coherence::RaceLog& races);

    JobWords words;
    JobThreads threads;
    JobSynchronization synchronization;
    JobCoordination coordination;
    JobMemory memory;
    JobMessages messages;
    JobCalls calls;
    Statistics statistics;
    JobEnding ending;
    JobGlobalMemory global_memory;
    JobSegments segments;
    JobRoom room;
    ServiceThread service;
  };

  void start_threads();

  JobDevices devices_;
  Faults faults_;
  StaticData static_data_;
  JobPolicies policies_;
  std::optional<Parts> parts_;  // from open() on
};

}  // namespace musubi::runtime
