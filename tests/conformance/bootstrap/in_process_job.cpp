#include "in_process_job.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace musubi::bootstrap {
namespace {

// The job has ended while a rank was in an exchange.
struct JobEnds {};

using Blobs = std::vector<std::string>;

// Shared by the threads of all ranks.
class Job {
 public:
  explicit Job(const Hosts& where) : hosts(where), given_(where.ranks()), running_(where.ranks()) {}

  const Hosts hosts;

  std::shared_ptr<const Blobs> exchange(Rank rank, std::string_view blob) {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    given_[rank.value] = blob;
    if (++count_ == hosts.ranks()) {
      gathered_ = std::make_shared<const Blobs>(std::exchange(given_, Blobs(hosts.ranks())));
      count_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || over_; });
    if (round_ == round) throw JobEnds{};
    return gathered_;  // the next round cannot be complete without this rank
  }

  void finish(Rank rank, int status) {
    const std::lock_guard lock(mutex_);
    if (finisher_ || over_) return;
    finisher_ = rank;
    outcome_.status = status;
  }

  // The rank has ended; with the reason if that is a failure.
  void ended(Rank rank, const std::optional<InProcessOutcome>& failure) {
    const std::lock_guard lock(mutex_);
    --running_;
    if (!finisher_ && !over_ && failure) {
      outcome_ = *failure;
      over_ = true;
    }
    if (finisher_ == rank) over_ = true;
    changed_.notify_all();
  }

  InProcessOutcome await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ == 0; });
    return outcome_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Blobs given_;
  std::shared_ptr<const Blobs> gathered_;
  std::uint32_t count_ = 0;
  std::uint64_t round_ = 0;
  std::uint32_t running_;
  std::optional<Rank> finisher_;
  bool over_ = false;
  InProcessOutcome outcome_;
};

std::string name_of(Rank rank) {
  return "rank " + std::to_string(rank.value);
}

class InProcessBootstrap final : public Bootstrap {
 public:
  InProcessBootstrap(std::shared_ptr<Job> job, Rank self) : job_(std::move(job)), self_(self) {}

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return job_->hosts.ranks(); }
  const Hosts& hosts() const noexcept override { return job_->hosts; }
  Result<Blobs> all_gather(std::string_view blob) override {
    if (blob.size() > blob_bytes_max) return Error{"the blob is too large"};
    return *job_->exchange(self_, blob);
  }
  void finish(int status) noexcept override { job_->finish(self_, status); }
  [[noreturn]] void abort(int status, std::string_view reason) noexcept override {
    job_->ended(self_,
                InProcessOutcome{status != 0 ? status : 1, name_of(self_) + ": " + std::string(reason)});
    for (;;) ::pause();
  }

 private:
  std::shared_ptr<Job> job_;
  Rank self_;
};

void run_rank(const std::shared_ptr<Job>& job, Rank rank, const std::function<void(Bootstrap&)>& body) {
  std::string how = " exited without ending the program";
  try {
    InProcessBootstrap bootstrap(job, rank);
    body(bootstrap);
  } catch (const JobEnds&) {
  } catch (const RankDies&) {
    how = " was killed";
  }
  job->ended(rank, InProcessOutcome{1, name_of(rank) + how});
}

}  // namespace

InProcessOutcome run_in_process(const Hosts& hosts, std::function<void(Bootstrap&)> body) {
  const auto job = std::make_shared<Job>(hosts);
  for (std::uint32_t rank = 0; rank < hosts.ranks(); ++rank) {
    std::thread([job, rank, body] { run_rank(job, Rank(rank), body); }).detach();
  }
  return job->await();
}

}  // namespace musubi::bootstrap
