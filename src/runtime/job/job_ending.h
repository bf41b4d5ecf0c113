// How this rank leaves the job: its report, then messages to the launcher and the other ranks.
#pragma once

#include "runtime/api/ending.h"
#include "runtime/job/departure.h"
#include "runtime/job/job_context.h"
#include "runtime/job/statistics.h"

namespace musubi::runtime {

class JobEnding final : public Ending {
 public:
  JobEnding(JobContext& job, fabric::Fabric& fabric, Statistics& statistics)
      : job_(job), statistics_(statistics), departure_(fabric) {}

  bool finishes_together() const noexcept override { return statistics_.reports(); }
  void finish(int status) override {
    statistics_.report();
    job_.bootstrap->finish(status);
  }
  // The launcher first, so that the other ranks do not seem to have failed.
  void leave(int status) noexcept override {
    job_.bootstrap->finish(status);
    departure_.announce();
  }
  [[noreturn]] void abort(int status, std::string_view reason) override { job_.abort(status, reason); }

  // Ends the process if another rank has left on the program's behalf. On the service thread.
  void follow() const noexcept {
    if (departure_.announced()) Departure::follow();
  }

 private:
  JobContext& job_;
  Statistics& statistics_;
  Departure departure_;
};

}  // namespace musubi::runtime
