// A fabric of two drivers: a near one for this rank and the peers whose memory it maps, a far one for all
// other peers. The near driver waits for both, by the far one's JointSleep.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/spin_lock.h"
#include "fabric/fabric.h"

namespace musubi::fabric {

class MixedFabric final : public Fabric {
 public:
  // Peers with local_pointer in `near` are near. `near` sleeps in `far`. Both outlive this.
  MixedFabric(Fabric& near, Fabric& far);

  Rank self() const noexcept override { return near_.self(); }
  std::uint32_t ranks() const noexcept override { return near_.ranks(); }
  Capabilities capabilities(Rank peer) const noexcept override { return of(peer).capabilities(peer); }
  Outcome post(Rank peer, std::span<const Step> steps, Event& completion) noexcept override {
    return of(peer).post(peer, steps, completion);
  }
  Outcome send(Rank peer, MessageKind kind, Urgency urgency,
               std::span<const std::byte> body) noexcept override {
    return of(peer).send(peer, kind, urgency, body);
  }
  void listen(MessageKind kind, Listener* listener) noexcept override;
  void offer(ProcedureId id, Procedure procedure) noexcept override;
  bool progress() noexcept override;
  void wait(const std::atomic<bool>& ready) noexcept override { near_.wait(ready); }
  void wake() noexcept override { near_.wake(); }
  void wait_for_service() noexcept override { near_.wait_for_service(); }
  void wake_service() noexcept override { near_.wake_service(); }
  void begin_polling() noexcept override { far_.begin_polling(); }
  void end_polling() noexcept override { far_.end_polling(); }
  std::byte* direct(Rank peer, RegionId region) noexcept override { return of(peer).direct(peer, region); }
  bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept override {
    return near_.watch(word, unwanted);
  }

 private:
  // Serializes the listener: each driver delivers by one thread at a time, and a listener expects one thread
  // in total. The lock is held for a short time only: listeners neither wait nor deliver.
  class InTurn final : public Listener {
   public:
    const char* on_message(Rank from, std::span<const std::byte> body) noexcept override {
      lock->lock();
      const char* const objection = listener->on_message(from, body);
      lock->unlock();
      return objection;
    }
    SpinLock* lock = nullptr;
    Listener* listener = nullptr;
  };

  Fabric& of(Rank peer) const noexcept;

  Fabric& near_;
  Fabric& far_;
  std::vector<bool> is_near_;
  SpinLock lock_;
  std::array<InTurn, static_cast<std::size_t>(MessageKind::count)> listeners_;
  std::atomic<std::uint32_t> near_only_{0};  // consecutive calls of progress() without the far driver
};

}  // namespace musubi::fabric
