// The fabric of a rank: shm among the ranks of one host, tcp, ofi or mpi to those of others, both in a job of
// several hosts with several ranks each; by settings also these on one host, or near peers as if they were
// far.
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

// The setting as far as it is of use: 0 in jobs without a network, and less where a run would take much of
// the rank's memory.
std::size_t far_run_bytes_max(const JobContext& job);

class JobFabric final : private fabric::PeerWatcher, private fabric::handshake::Log {
 public:
  explicit JobFabric(JobContext& job) : job_(job) {}
  // The watcher belongs to the fabric from now on.
  JobFabric(const JobFabric&) = delete;

  // Collective. `regions` as of the drivers. Errors: a driver refuses, settings that exclude each other.
  Result<void> open(std::span<const fabric::RegionMemory> regions, fabric::WaitingPolicy policy);

  fabric::Fabric& fabric() noexcept { return *chosen_; }
  // The one that knows the addresses of all regions that this rank has mapped.
  fabric::Fabric& memory() noexcept { return *memory_; }

  // For the waits that begin from now on. Any thread.
  void set_policy(fabric::WaitingPolicy policy) noexcept;

  // Whether a peer is lost: then the service thread asks again soon. Any thread.
  bool has_lost_a_peer() const noexcept { return lost_since_ns_.load() != 0; }
  // Why the job has to end. Empty while the bootstrap has some seconds to end it, in an orderly way or with
  // the cause, because the peer has died or left.
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
  std::unique_ptr<fabric::Fabric> joined_;  // of those above, by settings and hosts
  fabric::Fabric* chosen_ = nullptr;
  fabric::Fabric* memory_ = nullptr;

  std::atomic<std::uint64_t> lost_since_ns_{0};
  std::atomic<std::uint32_t> lost_peer_{0};
  fabric::Loss loss_;  // once lost_since_ns_ is not 0
};

}  // namespace musubi::runtime
