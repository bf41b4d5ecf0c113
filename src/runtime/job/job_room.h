// Frees memory of shared blocks before it runs short: a thread of the rank makes room ahead of need, and
// takes over homes from ranks that have no room (sync/room_keeper.h). A fault that finds no room waits for
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "coherence/protocol.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_devices.h"
#include "sync/room_keeper.h"

namespace musubi::runtime {

class JobRoom final : private sync::MemoryBudget, private sync::RoomKeeper::Waker {
 public:
  JobRoom(JobContext& job, JobDevices& devices, coherence::Protocol& protocol, sync::FlagOrder& flags);
  ~JobRoom();
  JobRoom(const JobRoom&) = delete;

  // The new thread blocks signals if the caller does.
  void start();
  // Call before any other thread of the runtime ends.
  void stop() noexcept;

  // A fault is about to open at most `bytes`: waits for room, or ends the job. Does not wait after stop().
  // Any thread that holds no gate, also inside a fault handler.
  void before_opening(std::size_t bytes) noexcept;

 private:
  std::size_t held() const noexcept override;
  std::size_t allowed() const noexcept override;
  void wake() noexcept override;
  void press() noexcept;
  void work();
  void relieve(std::size_t freed);

  JobContext& job_;
  JobDevices& devices_;
  std::unique_ptr<sync::RoomKeeper> keeper_;  // null: no block can be evicted
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<std::uint32_t> rounds_{0};
  unsigned vain_rounds_ = 0;  // consecutive rounds that freed nothing
  std::atomic<bool> pressed_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace musubi::runtime
