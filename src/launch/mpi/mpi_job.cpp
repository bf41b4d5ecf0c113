#include "launch/mpi/mpi_job.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/mpi/adapter.h"
#include "fabric/mpi/mpi_calls.h"
#include "launch/pmi/key_values.h"
#include "os/cpu.h"
#include "os/signal_calls.h"

namespace musubi::launch {

// Implements KeyValues by MPI itself, without another protocol of the launcher.
class ValuesByMpi final : public KeyValues {
 public:
  ValuesByMpi(const musubi_mpi_calls& calls, std::uint32_t rank, std::uint32_t ranks)
      : calls_(calls), rank_(rank), ranks_(ranks) {}

  const char* language() const override { return "MPI"; }
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return ranks_; }
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> fence() override;
  Result<std::string> get(std::uint32_t rank, std::string_view key) override;
  Result<void> leave() override { return {}; }

 private:
  Error failed(int error) const;

  const musubi_mpi_calls& calls_;
  const std::uint32_t rank_, ranks_;
  std::string own_;                                      // values put since the last fence, as lines
  std::vector<std::map<std::string, std::string>> got_;  // by rank
};

namespace {

// Restores the environment, because ranks must not get variables that MPI sets. MPI still sees those that it
// has read.
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

// Closes files that MPI opens, and the launcher's socket, on exec, because ranks must not get them.
class FilesKept {
 public:
  FilesKept() : before_(open_files()) {
    if (const char* const socket = ::getenv("PMI_FD")) before_.erase(std::atoi(socket));
  }
  ~FilesKept() {
    for (const int file : open_files()) {
      if (!before_.contains(file)) ::fcntl(file, F_SETFD, FD_CLOEXEC);
    }
  }
  FilesKept(const FilesKept&) = delete;

 private:
  static std::set<int> open_files() {
    std::set<int> files;
    std::error_code failure;  // then there are none
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", failure)) {
      files.insert(std::atoi(entry.path().filename().c_str()));
    }
    return files;
  }

  std::set<int> before_;
};

// Threads started in this scope handle no signals: this process receives its signals by a descriptor.
class SignalsBlocked {
 public:
  SignalsBlocked() : before_(os::set_signal_mask(SIG_SETMASK, ~os::SignalBits{0})) {}
  ~SignalsBlocked() { os::set_signal_mask(SIG_SETMASK, before_); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  const os::SignalBits before_;
};

// An MPI that does not know the launcher's protocol takes each process for a job of its own.
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

// MPICH 4.0 over UCX may hang in MPI_Finalize: one process waits for the answer of another process, which
// waits for it at a barrier of the launcher and makes no progress. A launcher that uses PMI-1 is told
// directly that this process ends. Result: whether it was.
bool tell_launcher() {
  const char* const variable = ::getenv("PMI_FD");
  if (variable == nullptr) return false;
  const int socket = std::atoi(variable);
  constexpr std::string_view farewell = "cmd=finalize\n";
  char answer[256];
  return ::send(socket, farewell.data(), farewell.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(farewell.size()) &&
         ::read(socket, answer, sizeof answer) > 0;
}

}  // namespace

Result<void> ValuesByMpi::put(std::string_view key, std::string_view value) {
  own_ += std::string(key) + "=" + std::string(value) + "\n";
  return {};
}

// The texts of all ranks are padded with zeros to the length of the longest.
Result<void> ValuesByMpi::fence() {
  auto bytes = static_cast<int>(own_.size());
  std::vector<int> lengths(ranks_);
  if (const int error = calls_.gather(&bytes, lengths.data(), sizeof bytes); error != 0) return failed(error);
  const int longest = *std::max_element(lengths.begin(), lengths.end());
  own_.resize(static_cast<std::size_t>(longest));
  std::string all(std::size_t{ranks_} * own_.size(), '\0');
  if (const int error = calls_.gather(own_.data(), all.data(), longest); error != 0) return failed(error);
  got_.resize(ranks_);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    std::string_view text =
        std::string_view(all).substr(rank * own_.size(), static_cast<std::size_t>(lengths[rank]));
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;
         text.remove_prefix(end + 1)) {
      const std::string_view line = text.substr(0, end);
      const std::size_t equals = line.find('=');
      got_[rank][std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
  }
  own_.clear();
  return {};
}

Result<std::string> ValuesByMpi::get(std::uint32_t rank, std::string_view key) {
  const auto found = got_[rank].find(std::string(key));
  if (found != got_[rank].end()) return found->second;
  return Error{"rank " + std::to_string(rank) +
               " has sent nothing by MPI; install the same Musubi on all hosts"};
}

Error ValuesByMpi::failed(int error) const {
  return Error{"MPI does not bring the ranks together: " + fabric::mpi::text_of_error(calls_, error) +
               "; leave out far_fabric=mpi, or ask who looks after this MPI"};
}

MpiJob::MpiJob(const musubi_mpi_calls& calls, const musubi_mpi_place& place)
    : calls_(calls),
      values_(std::make_unique<ValuesByMpi>(calls, static_cast<std::uint32_t>(place.rank),
                                            static_cast<std::uint32_t>(place.ranks))),
      rank_(static_cast<std::uint32_t>(place.rank)) {}

Result<std::unique_ptr<MpiJob>> MpiJob::join(const std::string& adapter) {
  const EnvironmentKept environment;
  const FilesKept files;
  const os::SignalsKept signals;
  const SignalsBlocked blocked;
  MUSUBI_ASSIGN_OR_RETURN(auto calls, fabric::mpi::load_adapter(adapter, fabric::mpi::Purpose::start));
  musubi_mpi_place place{};
  if (const int error = calls->start(&place); error != 0) {
    return Error{fabric::mpi::library_name(*calls) + " cannot begin: " +
                 fabric::mpi::text_of_error(*calls, error) + "; check that it runs programs of its own"};
  }
  std::unique_ptr<MpiJob> job(new MpiJob(*calls, place));
  if (auto whole = check_size(job->calls_, job->values_->ranks()); !whole) return whole.error();
  MUSUBI_ASSIGN_OR_RETURN(job->shared_, fabric::mpi::SharedParcels::create(job->values_->ranks()));
  // Each rank has a carrier.
  const bool spins = 2 * static_cast<std::uint32_t>(place.ranks_here) <= os::allowed_cores();
  job->carrier_ = std::make_unique<fabric::mpi::Carrier>(job->calls_, job->shared_, spins);
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
  return shared_.file();
}

bool MpiJob::leave() {
  if (thread_.joinable()) {
    carrier_->stop();
    thread_.join();
  }
  if (!carrier_->settle()) return false;
  if (tell_launcher()) return false;
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
