#include "launch/mpi/mpi_job.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <utility>
#include <vector>

#include "fabric/mpi/adapter.h"
#include "launch/mpi/values_by_mpi.h"
#include "launch/pmi/join_launcher.h"
#include "os/cpu.h"
#include "os/signal_calls.h"
#include "os/signals_kept.h"

namespace musubi::launch {
namespace {

// What MPI sets for itself is not for ranks. It goes on to see its own variables where it has looked.
class EnvironmentKept {
 public:
  EnvironmentKept() {
    for (char** entry = environ; *entry != nullptr; ++entry) entries_.emplace_back(*entry);
  }
  ~EnvironmentKept() {
    ::clearenv();
    for (std::string& entry : entries_) {
      const std::size_t equals = entry.find('=');
      if (equals == std::string::npos) continue;
      ::setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
    }
  }
  EnvironmentKept(const EnvironmentKept&) = delete;

 private:
  std::vector<std::string> entries_;
};

// Threads that begin meanwhile take none: this process gets its signals by a descriptor.
class SignalsBlocked {
 public:
  SignalsBlocked() : before_(os::set_signal_mask(SIG_SETMASK, ~os::SignalBits{0})) {}
  ~SignalsBlocked() { os::set_signal_mask(SIG_SETMASK, before_); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  const os::SignalBits before_;
};

// An MPI that does not know the launcher's language takes each process for a job of its own.
Result<void> check_size(const musubi_mpi_calls& calls, std::uint32_t ranks) {
  const auto by = started_by();
  const std::string name = fabric::mpi::library_name(calls);
  if (by && by->ranks != ranks) {
    return Error{
        std::string(by->launcher) + " has started " + std::to_string(by->ranks) + " ranks, and " + name +
        " sees " + std::to_string(ranks) +
        ": it does not belong to this launcher; use its own mpirun, or name another MPI by mpi_library"};
  }
  return {};
}

}  // namespace

MpiJob::MpiJob(const musubi_mpi_calls& calls, const musubi_mpi_place& place)
    : calls_(calls),
      values_(std::make_unique<ValuesByMpi>(calls, static_cast<std::uint32_t>(place.rank),
                                            static_cast<std::uint32_t>(place.ranks))),
      rank_(static_cast<std::uint32_t>(place.rank)) {}

Result<std::unique_ptr<MpiJob>> MpiJob::join(const std::string& adapter) {
  const EnvironmentKept environment;
  const os::SignalsKept signals;
  const SignalsBlocked blocked;
  auto calls = fabric::mpi::load_adapter(adapter, fabric::mpi::Purpose::start);
  if (!calls) return calls.error();
  musubi_mpi_place place{};
  if (const int error = calls.value()->start(&place); error != 0) {
    return Error{fabric::mpi::library_name(*calls.value()) +
                 " cannot begin: " + fabric::mpi::text_of_error(*calls.value(), error) +
                 "; check that it runs programs of its own"};
  }
  std::unique_ptr<MpiJob> job(new MpiJob(*calls.value(), place));
  if (auto whole = check_size(job->calls_, job->values_->ranks()); !whole) return whole.error();
  auto depot = fabric::mpi::Depot::create(job->values_->ranks());
  if (!depot) return depot.error();
  job->depot_ = std::move(depot).value();
  // A rank and its carrier.
  const bool spins = 2 * static_cast<std::uint32_t>(place.ranks_here) <= os::allowed_cores();
  job->carrier_ = std::make_unique<fabric::mpi::Carrier>(job->calls_, job->depot_, spins);
  return job;
}

int MpiJob::carry() {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] {
    const auto carried = carrier_->run();
    if (!carried)
      std::fprintf(stderr, "musubi: rank %u sends and receives no more: %s\n", rank_,
                   carried.error().message.c_str());
  });
  return depot_.file();
}

bool MpiJob::leave() {
  if (thread_.joinable()) {
    carrier_->stop();
    thread_.join();
  }
  if (!carrier_->settle()) return false;
  // MPICH 4.0 over UCX: one process waits for another's answer, which waits for it at a barrier of the
  // launcher and does not answer.
  constexpr std::chrono::seconds patience{5};
  std::packaged_task<int()> finish(calls_.finish);
  std::future<int> finished = finish.get_future();
  std::thread finisher(std::move(finish));
  const bool in_time = finished.wait_for(patience) == std::future_status::ready;
  if (in_time) finisher.join();
  if (!in_time) finisher.detach();
  return in_time;
}

}  // namespace musubi::launch
