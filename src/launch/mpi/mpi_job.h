// A job whose processes an MPI has started, and whose ranks communicate by that MPI. This process is a member
// of the MPI job, and its rank is its child: the ranks meet by MPI, and a thread carries the messages of this
// rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "fabric/mpi/carrier.h"
#include "fabric/mpi/mpi_calls.h"
#include "fabric/mpi/shared_parcels.h"
#include "launch/pmi/key_values.h"

namespace musubi::launch {

class MpiJob {
 public:
  // Joins by the adapter in this file. At most once per process, before it has a second thread. Signal
  // actions, the mask and the environment are unchanged. Errors: the adapter cannot be loaded, or its MPI
  // cannot start or is not the launcher's.
  static Result<std::unique_ptr<MpiJob>> join(const std::string& adapter);
  MpiJob(const MpiJob&) = delete;

  // The exchange by which the ranks meet. Its leave() does not leave the job.
  KeyValues& values() noexcept { return *values_; }

  // Starts to carry for the rank that will be started. Result: the file of the shared parcels, for that rank.
  int carry();

  // Collective, the last call. Blocks for some seconds at most. Result: whether MPI has been finished;
  // otherwise parts of it still run, and this process must end by _exit.
  bool leave();

 private:
  MpiJob(const musubi_mpi_calls& calls, const musubi_mpi_place& place);

  const musubi_mpi_calls& calls_;
  std::unique_ptr<KeyValues> values_;
  fabric::mpi::SharedParcels shared_;
  std::unique_ptr<fabric::mpi::Carrier> carrier_;
  const std::uint32_t rank_;
  std::thread thread_;
};

}  // namespace musubi::launch
