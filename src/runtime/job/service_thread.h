// The service thread of a rank: delivers messages that arrive while no thread of the rank polls, and executes
// their requests.
#pragma once

#include <atomic>
#include <thread>

#include "runtime/job/job_devices.h"
#include "runtime/job/job_ending.h"
#include "runtime/job/job_messages.h"
#include "runtime/job/job_remote_calls.h"

namespace musubi::runtime {

class ServiceThread {
 public:
  ServiceThread(JobContext& job, JobDevices& devices, JobMessages& messages, JobRemoteCalls& calls,
                JobEnding& ending)
      : job_(job), devices_(devices), messages_(messages), calls_(calls), ending_(ending) {}
  // Waits for the thread to end.
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;

  // The new thread blocks signals if the caller does.
  void start() {
    thread_ = std::thread([this] { work(); });
  }

 private:
  void work();

  JobContext& job_;
  JobDevices& devices_;
  JobMessages& messages_;
  JobRemoteCalls& calls_;
  JobEnding& ending_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace musubi::runtime
