// Memory for shared blocks that gets short: a thread of the rank's own makes room before it is needed, and
// takes homes over from ranks that have none (sync/room_keeper.h). A fault that finds no room waits for it.
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

  // The new thread takes no signals if the caller has blocked them.
  void start();
  // Before any other thread of the runtime ends.
  void stop() noexcept;

  // A fault is about to open `bytes` at most: waits until there is room, or ends the job. After stop() it
  // waits no more. Any thread that holds no gate, also inside a fault handler.
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
  std::unique_ptr<sync::RoomKeeper> keeper_;  // null: nothing can go
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<std::uint32_t> rounds_{0};
  unsigned vain_rounds_ = 0;  // in a row that freed nothing
  std::atomic<bool> pressed_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace musubi::runtime
