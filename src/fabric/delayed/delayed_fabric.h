// A decorator of a driver that makes near peers far: their memory is not mapped, an operation completes a
// round trip after it was posted, a message arrives half a round trip after it was sent, and bytes take time
// on the link of each rank. It measures on one host how programs behave over a slower network.
//
// A batch takes effect when it is posted and completes when it is due; the contract allows both. A message
// carries its time of arrival, and waits at the receiver until then. Threads in wait() deliver due batches
// and messages. The service thread delivers due messages, too, because the thread that received one may have
// left. It is not woken for batches: only the thread that posted one waits for it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/frame_pool.h"
#include "base/spin_lock.h"
#include "fabric/fabric.h"
#include "os/yield_meter.h"

namespace musubi::fabric {

// The link between a rank and the network: concurrent transfers queue up.
// Any thread.
class Link {
 public:
  // 0: unlimited.
  explicit Link(std::uint64_t bits_per_second) noexcept : bits_per_second_(bits_per_second) {}

  // Result: the time at which the last of `bytes` bytes, ready at time `now`, has left. Nanoseconds.
  std::uint64_t send(std::uint64_t now, std::size_t bytes) noexcept {
    if (bits_per_second_ == 0 || bytes == 0) return now;
    const auto duration =
        static_cast<std::uint64_t>(static_cast<double>(bytes) * 8e9 / static_cast<double>(bits_per_second_));
    std::uint64_t free_at = free_at_.load(std::memory_order_relaxed);
    std::uint64_t end = 0;
    do {
      end = std::max(free_at, now) + duration;
    } while (!free_at_.compare_exchange_weak(free_at, end, std::memory_order_relaxed));
    return end;
  }

 private:
  const std::uint64_t bits_per_second_;
  std::atomic<std::uint64_t> free_at_{0};
};

// How a thread waits for a time some microseconds ahead. A sleep ends late: by 20 us in a virtual machine, as
// long as a trip over a fast network. So naps measure how late they end, and are shortened by that much. The
// thread yields for the rest, as long as yields are quick.
// Any thread.
class PreciseSleep {
 public:
  // Passes time, at most until `due` (os::monotonic_ns()), perhaps much less.
  void pass_to_the_point(std::uint64_t due) noexcept;
  // The same for a thread that should leave the core to other threads; may end late.
  void pass(std::uint64_t due) noexcept;

 private:
  void nap_until(std::uint64_t now, std::uint64_t due) noexcept;

  std::atomic<std::uint64_t> late_ns_{10'000};  // average lateness of a nap
  os::YieldMeter yields_;
};

class DelayedFabric final : public Fabric {
 public:
  // `near` completes batches at once and outlives this; all ranks share a monotonic clock.
  DelayedFabric(Fabric& near, Distance distance) noexcept;

  Rank self() const noexcept override { return near_.self(); }
  std::uint32_t ranks() const noexcept override { return near_.ranks(); }
  Capabilities capabilities(Rank peer) const noexcept override;
  Outcome post(Rank peer, std::span<const Step> steps, Event& completion) noexcept override;
  Outcome send(Rank peer, MessageKind kind, Urgency urgency,
               std::span<const std::byte> body) noexcept override;
  void listen(MessageKind kind, Listener* listener) noexcept override;
  void offer(ProcedureId id, Procedure procedure) noexcept override { near_.offer(id, procedure); }
  bool progress() noexcept override;
  void wait(const std::atomic<bool>& ready) noexcept override;
  void wake() noexcept override;
  void wait_for_service() noexcept override;
  void wake_service() noexcept override;
  std::byte* direct(Rank peer, RegionId region) noexcept override;
  bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept override;

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  // The driver's listener for one kind: holds messages until they are due.
  class Arrivals final : public Listener {
   public:
    const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;
    DelayedFabric* fabric = nullptr;
    MessageKind kind{};
  };
  struct Message {
    std::uint64_t due;
    Rank from;
    MessageKind kind;
    std::uint32_t bytes;
    std::array<std::byte, message_bytes_max> body;
  };
  struct Batch {
    std::uint64_t due;
    Event* completion;
    bool operator<(const Batch& other) const noexcept { return due > other.due; }  // earliest first
  };

  void hold(const Message& message) noexcept;
  bool complete_batches(std::uint64_t now) noexcept;
  bool deliver(std::uint64_t now) noexcept;
  bool take_message(std::uint64_t now, Message& message) noexcept;
  std::uint64_t next_due() noexcept;

  Fabric& near_;
  const std::uint64_t round_trip_ns_;
  const std::uint32_t bandwidth_delay_bytes_;
  Link out_, in_;
  PreciseSleep sleep_;
  std::array<Arrivals, static_cast<std::size_t>(MessageKind::count)> arrivals_;
  std::array<Listener*, static_cast<std::size_t>(MessageKind::count)> listeners_{};

  SpinLock lock_;
  std::vector<Batch, FrameAllocator<Batch>> batches_ MUSUBI_GUARDED_BY(lock_);      // a heap
  std::deque<Message, FrameAllocator<Message>> messages_ MUSUBI_GUARDED_BY(lock_);  // in order of arrival

  std::atomic<bool> delivering_{false};     // a try-only lock
  std::atomic<bool> service_rests_{false};  // the service thread sleeps without a timeout
  std::atomic<std::uint32_t> wakes_{0};     // number of calls of wake()
  std::atomic<bool> service_called_{false};
};

}  // namespace musubi::fabric
