// The shm fabric with peers, or only those of other hosts, that appear far: it carries out posts and sends,
// but gives no address of their memory.
#pragma once

#include <atomic>

#include "fabric/fabric.h"

namespace musubi::runtime {

class FarFabric final : public fabric::Fabric {
 public:
  // Each host has `ranks_per_host` neighbouring ranks; 0: no rank is near, not even to itself.
  explicit FarFabric(fabric::Fabric& near, std::uint32_t ranks_per_host = 0)
      : near_(near), ranks_per_host_(ranks_per_host) {}

  Rank self() const noexcept override { return near_.self(); }
  std::uint32_t ranks() const noexcept override { return near_.ranks(); }
  fabric::Capabilities capabilities(Rank peer) const noexcept override {
    fabric::Capabilities capabilities = near_.capabilities(peer);
    capabilities.local_pointer = is_near(peer);
    return capabilities;
  }
  fabric::Outcome post(Rank peer, std::span<const fabric::Step> steps, Event& completion) noexcept override {
    if (looks_ == 0) ++sent_without_looks_;
    return near_.post(peer, steps, completion);
  }
  fabric::Outcome send(Rank peer, fabric::MessageKind kind, fabric::Urgency urgency,
                       std::span<const std::byte> body) noexcept override {
    if (looks_ == 0) ++sent_without_looks_;
    return near_.send(peer, kind, urgency, body);
  }
  void offer(fabric::ProcedureId id, fabric::Procedure procedure) noexcept override {
    near_.offer(id, procedure);
  }
  void listen(fabric::MessageKind kind, fabric::Listener* listener) noexcept override {
    near_.listen(kind, listener);
  }
  bool progress() noexcept override { return near_.progress(); }
  void wait(const std::atomic<bool>& ready) noexcept override { near_.wait(ready); }
  void wake() noexcept override { near_.wake(); }
  void wait_for_service() noexcept override { near_.wait_for_service(); }
  void wake_service() noexcept override { near_.wake_service(); }
  void begin_polling() noexcept override { ++looks_; }
  void end_polling() noexcept override { --looks_; }
  std::byte* direct(Rank peer, fabric::RegionId region) noexcept override {
    return is_near(peer) ? near_.direct(peer, region) : nullptr;
  }
  bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept override {
    return near_.watch(word, unwanted);
  }

  // Number of threads that have announced that they poll for arrivals.
  int looks() const noexcept { return looks_.load(); }
  // Batches and messages.
  unsigned sent_without_looks() const noexcept { return sent_without_looks_.load(); }

 private:
  bool is_near(Rank peer) const noexcept {
    return ranks_per_host_ != 0 && peer.value / ranks_per_host_ == near_.self().value / ranks_per_host_;
  }

  fabric::Fabric& near_;
  const std::uint32_t ranks_per_host_;
  std::atomic<int> looks_{0};
  std::atomic<unsigned> sent_without_looks_{0};
};

}  // namespace musubi::runtime
