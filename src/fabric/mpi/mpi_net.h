// A message network over MPI: the rank's side, which hands parcels to the carrier and receives them from it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "fabric/messages/net.h"
#include "fabric/mpi/depot.h"
#include "os/memory.h"
#include "os/sockets.h"

namespace musubi::fabric::mpi {

class MpiNet final : public MessageNet {
 public:
  // Blocks until the carrier serves this rank. Errors: it does not; no memory or files.
  static Result<std::unique_ptr<MpiNet>> open(Depot depot, Rank self, std::uint32_t ranks);
  ~MpiNet() override;

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return ranks_; }
  std::size_t parcel_bytes() const noexcept override { return mpi::parcel_bytes; }
  std::string_view name() const noexcept override { return "MPI"; }
  Parcel* open_group(std::uint32_t group) noexcept override;
  Sent send(Rank peer, Parcel& parcel, std::size_t bytes, Purpose purpose) noexcept override;
  void give_back(Parcel& parcel) noexcept override;
  Polled poll(ParcelReceiver& receiver) noexcept override;
  void sleep(Sleeper sleeper, int timeout_ms) noexcept override;
  void wake(Sleeper sleeper) noexcept override { bells_[index(sleeper)].ring(); }
  int rope(Sleeper sleeper) const noexcept override { return bells_[index(sleeper)].write_end(); }

 private:
  MpiNet(Depot depot, Rank self, std::uint32_t ranks) noexcept;
  static std::size_t index(Sleeper sleeper) noexcept { return static_cast<std::size_t>(sleeper); }
  Parcel* parcels_of(std::uint32_t group) const noexcept;
  Result<void> meet_carrier();
  Polled take_marks(ParcelReceiver& receiver) noexcept;
  void report_failure(ParcelReceiver& receiver) noexcept;

  Depot depot_;
  const Rank self_;
  const std::uint32_t ranks_;
  os::Mapping parcel_memory_;
  os::WakeupPipe bells_[2];                         // by Sleeper
  std::vector<std::atomic<std::uint8_t>> leaving_;  // by group: parcels held by the carrier
  std::atomic<bool> polling_{false};
  bool has_failed_ = false;
};

}  // namespace musubi::fabric::mpi
