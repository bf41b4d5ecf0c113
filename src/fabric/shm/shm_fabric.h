// Fabric driver for ranks of one host: each maps the memory files of the others. One-sided operations are
// loads, stores and atomic instructions of the caller, complete when post() returns; messages go through a
// mailbox per rank. Nothing has a name in the file system, so nothing is left behind however a process ends.
// In a job of several hosts it joins the ranks of each, and sleeps in the driver that joins the hosts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/exchange.h"
#include "fabric/fabric.h"
#include "fabric/joint_sleep.h"
#include "fabric/memory/steps.h"
#include "fabric/shm/address.h"
#include "fabric/shm/doorbell.h"
#include "fabric/shm/mailbox.h"
#include "fabric/waiting_policy.h"
#include "os/memory.h"
#include "os/yield_meter.h"
#include "trace/counters.h"

namespace musubi::fabric {

// Of a job of which other drivers join the rest. All ranks open, in groups; those of a group pass the same.
struct ShmPart {
  std::span<const Rank> group;  // of ranks that share a host, the opening one among them; empty: all
  JointSleep* sleep = nullptr;  // where threads sleep, for all of a group or for none; outlives the fabric
};

class ShmFabric final : public Fabric {
 public:
  // Collective; calls `exchange` twice. `regions` has the same ids and sizes on every rank; each with bytes
  // needs a file, open for reading and writing, at least until this returns; `base` maps it and outlives the
  // fabric, as do `counters`. Address space is taken for all regions of all ranks of the group, memory for
  // none. Fails on all ranks or on none.
  static Result<std::unique_ptr<ShmFabric>> open(Rank self, std::uint32_t ranks,
                                                 std::span<const RegionMemory> regions,
                                                 const Exchange& exchange, trace::Counters& counters,
                                                 WaitingPolicy policy, const ShmPart& part = {});

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return static_cast<std::uint32_t>(peers_.size()); }
  // None to ranks of other groups, which are no peers.
  Capabilities capabilities(Rank peer) const noexcept override {
    const bool is_here = peers_[peer.value].mailbox != nullptr;
    return {.cpu_atomics_coherent = is_here, .local_pointer = is_here};
  }

  // Always `done`; takes no lock.
  Outcome post(Rank peer, std::span<const Step> steps, Event& completion) noexcept override;
  Outcome send(Rank peer, MessageKind kind, Urgency urgency,
               std::span<const std::byte> body) noexcept override;
  void listen(MessageKind kind, Listener* listener) noexcept override;
  void offer(ProcedureId id, Procedure procedure) noexcept override { procedures_.offer(id, procedure); }
  bool progress() noexcept override;

  // Delivers what has arrived before it returns, so that no message depends on what the caller does next.
  // When another thread delivers a message that this thread waits for, it must set `ready` and call wake().
  void wait(const std::atomic<bool>& ready) noexcept override;
  void wake() noexcept override;
  // One thread of the rank. A wake-up that comes before the sleep is not lost.
  void wait_for_service() noexcept override;
  void wake_service() noexcept override;

  // For the waits that begin from now on. Any thread.
  void set_policy(WaitingPolicy policy) noexcept {
    spin_checks_.store(policy.spin_checks, std::memory_order_relaxed);
    yields_max_.store(policy.yields, std::memory_order_relaxed);
  }

  std::byte* direct(Rank peer, RegionId region) noexcept override;
  bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept override;

 private:
  struct Peer {
    std::array<RegionView, region_count_max> regions{};
    Mailbox* mailbox = nullptr;
    Ropes ropes;
    std::vector<os::Mapping> mappings;  // own all that stands above, except the own regions
    os::FileDescriptor waiters_rope, service_rope;
  };

  ShmFabric(Rank self, std::uint32_t ranks, Mailbox& mailbox, trace::Counters& counters, WaitingPolicy policy,
            JointSleep* sleep);

  void map_own(std::span<const RegionMemory> regions, os::Mapping mailbox);
  Result<void> map_peer(Rank peer, const ShmAddress& own, std::string_view blob);
  Result<void> open_ropes(Peer& peer, const ShmAddress& theirs);
  Result<void> map_peers(const ShmAddress& own, const std::vector<std::string>& blobs,
                         std::span<const Rank> group);

  bool called(const std::atomic<bool>& ready) const noexcept;
  void fall_asleep(const Stay& stay, const std::atomic<bool>& ready, std::uint32_t bell) noexcept;
  std::uint32_t deliver() noexcept;

  const Rank self_;
  trace::Counters& counters_;
  std::atomic<std::uint32_t> spin_checks_, yields_max_;
  std::vector<Peer> peers_;
  Procedures procedures_;
  Mailbox& mailbox_;
  JointSleep* const sleep_;  // null: on futexes
  std::array<Listener*, static_cast<std::size_t>(MessageKind::count)> listeners_{};

  alignas(64) MailboxReader reader_;
  std::atomic<bool> delivering_{false};  // a lock that is only ever tried: one thread takes messages
  std::uint32_t service_bell_seen_ = 0;  // service thread only
  os::YieldMeter yields_;
};

}  // namespace musubi::fabric
