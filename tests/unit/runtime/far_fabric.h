// The shm fabric as if its peers were far: it carries out what is posted and sent, but gives no address of
// theirs.
#pragma once

#include "fabric/fabric.h"

namespace musubi::runtime {

class FarFabric final : public fabric::Fabric {
 public:
  explicit FarFabric(fabric::Fabric& near) : near_(near) {}

  Rank self() const noexcept override { return near_.self(); }
  std::uint32_t ranks() const noexcept override { return near_.ranks(); }
  fabric::Capabilities capabilities() const noexcept override {
    fabric::Capabilities capabilities = near_.capabilities();
    capabilities.local_pointer = false;
    return capabilities;
  }
  fabric::Outcome post(Rank peer, std::span<const fabric::Step> steps, Event& completion) noexcept override {
    return near_.post(peer, steps, completion);
  }
  fabric::Outcome send(Rank peer, fabric::MessageKind kind, fabric::Urgency urgency,
                       std::span<const std::byte> body) noexcept override {
    return near_.send(peer, kind, urgency, body);
  }
  void listen(fabric::MessageKind kind, fabric::Listener* listener) noexcept override {
    near_.listen(kind, listener);
  }
  bool progress() noexcept override { return near_.progress(); }
  void wait(const std::atomic<bool>& ready) noexcept override { near_.wait(ready); }
  void wake() noexcept override { near_.wake(); }
  void wait_for_service() noexcept override { near_.wait_for_service(); }
  void wake_service() noexcept override { near_.wake_service(); }
  std::byte* direct(Rank, fabric::RegionId) noexcept override { return nullptr; }
  bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept override {
    return near_.watch(word, unwanted);
  }

 private:
  fabric::Fabric& near_;
};

}  // namespace musubi::runtime
