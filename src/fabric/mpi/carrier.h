// Carries the messages of one rank by MPI, in a process next to it. MPI has no way to sleep: the carrier
// polls, and naps between polls, the longer the less there is to do.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/mpi/mpi_calls.h"
#include "fabric/mpi/shared_parcels.h"
#include "os/memory.h"

namespace musubi::fabric::mpi {

class Carrier {
 public:
  // `spins`: polls without naps for a while after each message; for hosts with a core to spare. Carriers with
  // different `tag`s do not receive each other's messages.
  Carrier(const musubi_mpi_calls& calls, SharedParcels& shared, bool spins, int tag = 0);
  Carrier(const Carrier&) = delete;

  // Waits for the rank and serves it, until stop(). No other thread may call MPI until it returns. Errors:
  // those of MPI; the rank has been told.
  Result<void> run();
  // Any thread.
  void stop() noexcept;

  // After run(): waits until no message of any carrier is under way, for some seconds at most. Result: false
  // if there still is one; then MPI cannot be finished.
  bool settle();

 private:
  static constexpr std::uint32_t receives_max = 16;
  static constexpr std::uint32_t sends_max = musubi_mpi_slots - receives_max;

  bool await_rank();
  bool open_ropes();
  bool carry();
  void take_marks();
  void begin_sends();
  void begin_receives();
  template <typename Each>
  int look(Each each);
  void has_ended(const musubi_mpi_done& done, bool has_come);
  void call_rank(Sleeper sleeper) noexcept;
  void call_some_sleeper() noexcept;
  void nap(std::uint64_t idle_ns) noexcept;
  void check(int error, const char* doing);

  const musubi_mpi_calls& calls_;
  SharedParcels& shared_;
  const std::uint64_t spin_ns_;
  const int tag_;
  std::atomic<bool> stop_{false};
  os::FileDescriptor ropes_[2];  // by Sleeper

  std::deque<std::uint32_t> to_send_;            // parcels without a slot
  std::vector<std::uint32_t> empty_;             // parcels to receive into
  std::uint32_t parcel_in_[musubi_mpi_slots]{};  // by slot
  std::vector<int> free_slots_[2];               // to receive, to send
  bool moved_ = false;                           // since carry() began
  bool owes_call_ = false;                       // of a message that a polling thread may find without a call
  std::string failure_;
};

}  // namespace musubi::fabric::mpi
