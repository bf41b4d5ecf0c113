// Fabric driver for ranks of one host: each maps the memory files of all other ranks. One-sided operations
// are loads, stores and atomic instructions of the caller, complete when post() returns; messages go through
// a mailbox per rank. No file has a name in the file system, so nothing is left however a process ends. In a
// job of several hosts this driver connects the ranks of each host, and sleeps in the driver between the
// hosts.
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
#include "fabric/memory/steps.h"
#include "fabric/shm/mailbox.h"
#include "fabric/waiting.h"
#include "os/memory.h"
#include "os/yield_meter.h"
#include "trace/counters.h"

namespace musubi::fabric {

struct ShmAddress;  // open.cpp

// The part of a job that this driver connects. All ranks open it, in groups; ranks of a group pass the same
// values.
struct ShmPart {
  std::span<const Rank> group;  // ranks that share a host, including the opening one; empty: all
  JointSleep* sleep = nullptr;  // where threads sleep, for all ranks of a group or none; outlives the fabric
};

class ShmFabric final : public Fabric {
 public:
  // Collective; calls `exchange` twice. `regions` have the same ids and sizes on every rank. A region that is
  // not empty needs a file, open for reading and writing at least until this returns; `base` maps it. `base`
  // and `counters` outlive the fabric. Takes address space for all regions of all ranks of the group, but no
  // memory. Fails on all ranks or on none.
  static Result<std::unique_ptr<ShmFabric>> open(Rank self, std::uint32_t ranks,
                                                 std::span<const RegionMemory> regions,
                                                 const Exchange& exchange, trace::Counters& counters,
                                                 WaitingPolicy policy, const ShmPart& part = {});

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return static_cast<std::uint32_t>(peers_.size()); }
  // Ranks of other groups are no peers and have none.
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

  // Delivers arrivals before it returns, so that no message depends on the caller's next action. A thread
  // that delivers a message for which this one waits must set `ready` and call wake().
  void wait(const std::atomic<bool>& ready) noexcept override;
  void wake() noexcept override;
  // One thread of the rank. A wake-up before the sleep is not lost.
  void wait_for_service() noexcept override;
  void wake_service() noexcept override;

  // Applies to waits that begin afterwards. Any thread.
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
    ExternalWakers ropes;
    std::vector<os::Mapping> mappings;  // all of the above, except the own regions
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
  void fall_asleep(const WaitScope& stay, const std::atomic<bool>& ready, std::uint32_t bell) noexcept;
  std::uint32_t deliver() noexcept;

  const Rank self_;
  trace::Counters& counters_;
  std::atomic<std::uint32_t> spin_checks_, yields_max_;
  std::vector<Peer> peers_;
  Procedures procedures_;
  Mailbox& mailbox_;
  JointSleep* const sleep_;  // null: threads sleep on futexes
  std::array<Listener*, static_cast<std::size_t>(MessageKind::count)> listeners_{};

  alignas(64) MailboxReader reader_;
  std::atomic<bool> delivering_{false};  // a try-only lock: one thread takes messages
  std::uint32_t service_bell_seen_ = 0;  // service thread only
  os::YieldMeter yields_;
};

}  // namespace musubi::fabric
