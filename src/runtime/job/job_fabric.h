// The fabric of a rank: shm between the ranks of one host, tcp, ofi or mpi between hosts, and both in a job
// of several hosts with several ranks each. Settings can select a network on one host, or treat near peers as
// remote.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "fabric/active_messages/engine.h"
#include "fabric/delayed/delayed_fabric.h"
#include "fabric/mixed/mixed_fabric.h"
#include "fabric/mpi/mpi.h"
#include "fabric/ofi/ofi.h"
#include "fabric/seal/sealed_transport.h"
#include "fabric/shm/shm_fabric.h"
#include "fabric/tcp/tcp.h"
#include "runtime/job/job_context.h"

namespace musubi::runtime {

// The setting within useful limits: 0 in jobs without a network, and less if a run would take a large share
// of the rank's memory.
std::size_t far_run_bytes_max(const JobContext& job);

class JobFabric final : private fabric::PeerWatcher, private fabric::handshake::Log {
 public:
  explicit JobFabric(JobContext& job) : job_(job) {}
  // The fabric refers to this object.
  JobFabric(const JobFabric&) = delete;

  // Collective. `regions`: as for the drivers. Errors: a driver's refusal, settings that exclude each other.
  Result<void> open(std::span<const fabric::RegionMemory> regions, fabric::WaitingPolicy policy);

  fabric::Fabric& fabric() noexcept { return *chosen_; }
  // The fabric that knows the addresses of all regions that this rank has mapped.
  fabric::Fabric& memory() noexcept { return *memory_; }

  // Applies to later waits. Any thread.
  void set_policy(fabric::WaitingPolicy policy) noexcept;

  // Whether a peer is lost: the service thread must call reason_to_end() again soon. Any thread.
  bool has_lost_a_peer() const noexcept { return lost_since_ns_.load() != 0; }
  // Why the job must end. Empty for some seconds if the peer may have died or left: the bootstrap then ends
  // the job, in order or with the cause.
  std::string reason_to_end() const;

 private:
  void peer_failed(Rank peer, fabric::Loss loss) noexcept override;
  void say(std::string_view line) noexcept override;
  Result<void> open_far(std::span<const fabric::RegionMemory> regions, fabric::WaitingPolicy policy);
  Result<std::unique_ptr<fabric::Transport>> open_transport(std::string_view driver, std::string_view secret,
                                                            std::span<const fabric::RegionMemory> regions);
  Result<fabric::Transport*> seal(std::string_view secret);
  Result<void> open_near(std::span<const fabric::RegionMemory> regions, fabric::WaitingPolicy policy);

  JobContext& job_;
  std::unique_ptr<fabric::Transport> transport_;
  std::unique_ptr<fabric::SealedTransport> sealed_;
  std::unique_ptr<fabric::ActiveMessages> far_;
  std::unique_ptr<fabric::ShmFabric> near_;
  std::unique_ptr<fabric::Fabric> joined_;  // combines the above, by settings and hosts
  fabric::Fabric* chosen_ = nullptr;
  fabric::Fabric* memory_ = nullptr;

  std::atomic<std::uint64_t> lost_since_ns_{0};
  std::atomic<std::uint32_t> lost_peer_{0};
  fabric::Loss loss_;  // valid once lost_since_ns_ is not 0
};

}  // namespace musubi::runtime
