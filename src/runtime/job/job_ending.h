// How this rank leaves the job: its report, then messages to the launcher and the other ranks.
#pragma once

#include <atomic>

#include "fabric/fabric.h"
#include "runtime/api/runtime.h"
#include "runtime/job/job_context.h"
#include "runtime/job/statistics.h"

namespace musubi::runtime {

// Tells the ranks that a rank has left the job on the program's behalf while they were at work. From then on
// they get no answers from it, but must still write their buffered output.
class Departure final : private fabric::Listener {
 public:
  explicit Departure(fabric::Fabric& fabric);
  // The fabric refers to this object.
  Departure(const Departure&) = delete;

  // Tells all other ranks whose mailboxes have room: the launcher ends ranks that do not receive the message.
  // Signal-safe, any thread.
  void announce() noexcept;

  bool announced() const noexcept { return announced_.load(std::memory_order_acquire); }
  // For the service thread of a rank that was told: writes the C library's buffers and ends the process.
  [[noreturn]] static void follow() noexcept;

 private:
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

  fabric::Fabric& fabric_;
  std::atomic<bool> announced_{false};
};

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
