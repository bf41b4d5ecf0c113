// The service thread of a rank: delivers messages that arrive while no thread of the rank looks, and does
// what they ask for.
#pragma once

#include <atomic>
#include <thread>

#include "runtime/job/job_calls.h"
#include "runtime/job/job_devices.h"
#include "runtime/job/job_ending.h"
#include "runtime/job/job_messages.h"

namespace musubi::runtime {

class ServiceThread {
 public:
  ServiceThread(JobContext& job, JobDevices& devices, JobMessages& messages, JobCalls& calls,
                JobEnding& ending)
      : job_(job), devices_(devices), messages_(messages), calls_(calls), ending_(ending) {}
  // Waits for its end.
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;

  // The new thread takes no signals if the caller has blocked them.
  void start() {
    thread_ = std::thread([this] { work(); });
  }

 private:
  void work();

  JobContext& job_;
  JobDevices& devices_;
  JobMessages& messages_;
  JobCalls& calls_;
  JobEnding& ending_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace musubi::runtime
