#include "measure_command.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/task_group.h"
#include "config/settings.h"
#include "fabric/transfer.h"
#include "network/measured.h"
#include "network/rounds.h"
#include "os/clock.h"
#include "os/memory.h"
#include "refusal.h"
#include "run_command.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_fabric.h"
#include "runtime/join_job.h"
#include "runtime/threads/thread_executor.h"

namespace musubi::tools {
namespace {

constexpr fabric::RegionId region{0};
constexpr std::size_t piece_bytes = std::size_t{256} << 10;  // piece of a large get
constexpr std::size_t pieces = 4;                            // in flight at once
constexpr std::size_t small_samples_max = 500;
// The total for all rounds, which bounds a large job, and the limits for one round, which needs a minimum.
constexpr std::uint64_t all_rounds_ns = 4'000'000'000, round_min_ns = 20'000'000, round_max_ns = 300'000'000;

// Serves the gets of other ranks while this rank waits for them elsewhere, as the service thread of a job
// does.
class Server {
 public:
  explicit Server(fabric::Fabric& fabric) : fabric_(fabric), thread_([this] { work(); }) {}
  ~Server() {
    stopping_.store(true);
    fabric_.wake_service();
    thread_.join();
  }
  Server(const Server&) = delete;

 private:
  void work() {
    while (!stopping_.load()) {
      if (!fabric_.progress()) fabric_.wait_for_service();
    }
  }

  fabric::Fabric& fabric_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// A message by which a measuring rank releases its target.
class Release final : public fabric::Listener {
 public:
  const char* on_message(Rank, std::span<const std::byte>) noexcept override {
    come_.store(true);
    return nullptr;
  }
  void await(fabric::Fabric& fabric) {
    while (!come_.load()) {
      if (!fabric.progress()) fabric.wait(come_);
    }
    come_.store(false);
  }

 private:
  std::atomic<bool> come_{false};
};

class Measurement {
 public:
  Measurement(runtime::JobContext& job, fabric::Fabric& fabric)
      : job_(job), fabric_(fabric), executor_(fabric, job.counters), buffer_(pieces * piece_bytes) {
    fabric_.listen(fabric::MessageKind::unassigned, &release_);
  }

  // Collective. Errors: the job cannot go on.
  Result<std::vector<network::MeasuredPair>> run() {
    const std::vector<network::Round> rounds = network::rounds_of(job_.ranks);
    const std::uint64_t round_ns =
        std::clamp(all_rounds_ns / std::max<std::size_t>(rounds.size(), 1), round_min_ns, round_max_ns);
    for (const network::Round& round : rounds) {
      const auto own = std::ranges::find_if(round, [this](const network::Pair& pair) {
        return pair.by == job_.self.value || pair.from == job_.self.value;
      });
      const bool is_target = own != round.end() && own->from == job_.self.value;
      if (is_target) release_.await(fabric_);
      std::optional<network::MeasuredPair> begun;
      if (own != round.end() && !is_target) begun = measure_awake(Rank{own->from}, round_ns / 4);
      // From here on the targets wait for the launcher, and no target polls the fabric.
      if (begun) {
        measure_asleep(*begun, Rank{own->from}, round_ns * 3 / 4);
        measured_.push_back(*begun);
      }
      if (auto all = job_.bootstrap->all_gather(""); !all) return all.error();
    }
    return measured_;
  }

 private:
  network::MeasuredPair measure_awake(Rank peer, std::uint64_t time_ns) {
    network::MeasuredPair pair{std::to_string(job_.self.value), std::to_string(peer.value)};
    round_trip_ns(peer);  // the first round trip makes the connection
    pair.awake_ns = latency_ns(peer, time_ns);
    executor_.run(
        fabric::deliver(fabric_, peer, fabric::MessageKind::unassigned, fabric::Urgency::promptly, {}));
    return pair;
  }

  void measure_asleep(network::MeasuredPair& pair, Rank peer, std::uint64_t time_ns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // until the target sleeps
    pair.asleep_ns = latency_ns(peer, time_ns / 3);
    const std::uint64_t begin = os::monotonic_ns();
    const std::size_t bytes = executor_.run(large_gets(peer, begin + time_ns * 2 / 3));
    const std::uint64_t duration = std::max<std::uint64_t>(os::monotonic_ns() - begin, 1);
    pair.bits_per_second =
        static_cast<std::uint64_t>(static_cast<double>(bytes) * 8e9 / static_cast<double>(duration));
  }

  std::uint64_t round_trip_ns(Rank peer) {
    const std::uint64_t begin = os::monotonic_ns();
    executor_.run(get(peer, buffer_.data(), sizeof(std::uint64_t)));
    return os::monotonic_ns() - begin;
  }

  std::uint64_t latency_ns(Rank peer, std::uint64_t time_ns) {
    const std::uint64_t end = os::monotonic_ns() + time_ns;
    std::vector<std::uint64_t> samples;
    do {
      samples.push_back(round_trip_ns(peer));
    } while (samples.size() < small_samples_max && os::monotonic_ns() < end);
    return network::median(std::move(samples));
  }

  Task<> get(Rank peer, std::byte* to, std::size_t bytes) {
    const std::array steps{fabric::get(region, 0, to, bytes)};
    co_await fabric::transfer(fabric_, peer, steps);
  }

  // Result: the number of bytes received.
  Task<std::size_t> large_gets(Rank peer, std::uint64_t end_ns) {
    TaskGroup group(pieces);
    std::size_t count = 0;
    for (; count < pieces || os::monotonic_ns() < end_ns; ++count) {
      // Several gets may write to the same place: the bytes are never read.
      co_await group.admit(get(peer, buffer_.data() + count % pieces * piece_bytes, piece_bytes));
    }
    co_await group.drain();
    co_return count* piece_bytes;
  }

  runtime::JobContext& job_;
  fabric::Fabric& fabric_;
  runtime::ThreadExecutor executor_;
  std::vector<std::byte> buffer_;
  Release release_;
  std::vector<network::MeasuredPair> measured_;
};

Result<void> measure_and_print(runtime::JobContext& job) {
  if (auto found = job.find_host(); !found) return found;
  auto memory = os::Mapping::anywhere(piece_bytes, os::Protection::read_write);
  if (!memory) return memory.error();
  std::fill_n(memory.value().data(), piece_bytes, std::byte{1});
  const fabric::RegionMemory served{region, memory.value().data(), piece_bytes};
  runtime::JobFabric fabric(job);
  if (auto opened = fabric.open({&served, 1}, runtime::waiting_policy_on(job.host, job.settings, 1)); !opened)
    return opened;
  Measurement measurement(job, fabric.fabric());
  if (auto all = job.bootstrap->all_gather("listening"); !all) return all.error();
  const Server server(fabric.fabric());
  auto own = measurement.run();
  if (!own) return own.error();
  auto all = job.bootstrap->all_gather(network::as_json({"", own.value()}));
  if (!all) return all.error();
  const config::Settings& settings = job.settings;
  network::Measured measured{settings.near_fabric == "shm" ? settings.far_fabric : settings.near_fabric, {}};
  for (const std::string& blob : all.value()) {
    auto others = network::parse(blob);
    if (!others) return others.error();
    std::ranges::move(others.value().pairs, std::back_inserter(measured.pairs));
  }
  if (job.self == Rank{0}) std::puts(network::as_json(measured).c_str());
  std::fflush(stdout);
  job.bootstrap->finish(0);
  return {};
}

}  // namespace

int measure() {
  if (!runtime::is_invited()) {
    return refuse("musubi measure is for musubi doctor --hosts, which starts it", status_of_misuse);
  }
  auto settings = runtime::read_settings();
  if (!settings) return refuse(settings.error().message, status_of_misuse);
  auto bootstrap = runtime::join_job();
  if (!bootstrap) return refuse(bootstrap.error().message, status_of_failed_start);
  const std::uint32_t ranks = bootstrap.value()->ranks();
  auto plan = runtime::AddressPlan::make(settings.value(), runtime::Mappers::on_one_host(1), {});
  if (!plan) return refuse(plan.error().message, status_of_failed_start);
  if (ranks < 2 || bootstrap.value()->hosts().count() != ranks) {
    return refuse("musubi measure wants one rank on each of several hosts", status_of_failed_start);
  }
  runtime::JobContext job(settings.value(), std::move(bootstrap).value(), std::move(plan).value(), false);
  const auto done = measure_and_print(job);
  if (!done) job.abort(status_of_failed_start, done.error().message);
  return 0;
}

}  // namespace musubi::tools
