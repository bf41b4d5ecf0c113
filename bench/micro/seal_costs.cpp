// Costs of checks and ciphers between ranks (fabric/seal): the same gets and puts between two ranks of this
// process over TCP, in alternation without a check, with checksums, and with each cipher. For each: the
// median time of one, the processor time of both ranks, and the bytes that cross the network. Usage:
// seal_costs [rounds]

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "fabric/active_messages/engine.h"
#include "fabric/seal/sealed_transport.h"
#include "fabric/tcp/tcp.h"
#include "moves.h"
#include "rows.h"
#include "two_ranks.h"

namespace musubi::bench {
namespace {

using namespace musubi::fabric;

constexpr RegionId region{0};
constexpr std::size_t region_bytes = std::size_t{16} << 20;
constexpr std::array<std::byte, 32> secret{std::byte{7}};

// Counts the bytes that enter the transport below.
class CountedTransport final : public Transport {
 public:
  explicit CountedTransport(std::unique_ptr<Transport> below) : below_(std::move(below)) {}
  Rank self() const noexcept override { return below_->self(); }
  std::uint32_t ranks() const noexcept override { return below_->ranks(); }
  std::size_t send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept override {
    const std::size_t taken = below_->send(peer, lane, pieces);
    bytes.fetch_add(taken);
    return taken;
  }
  Polled poll(Receiver& receiver) noexcept override { return below_->poll(receiver); }
  void sleep(Sleeper sleeper) noexcept override { below_->sleep(sleeper); }
  void wake(Sleeper sleeper) noexcept override { below_->wake(sleeper); }
  void set_attended(bool attended) noexcept override { below_->set_attended(attended); }
  std::string way_to(Rank peer) const override { return below_->way_to(peer); }
  void close(Rank peer) noexcept override { below_->close(peer); }
  std::atomic<std::uint64_t> bytes{0};

 private:
  const std::unique_ptr<Transport> below_;
};

struct Kind {
  const char* name;
  bool is_sealed;
  Cipher cipher;
};

// Two ranks; the second rank serves.
class Pair {
 public:
  explicit Pair(const Kind& kind) {
    open_two_ranks([&](Rank rank, const Exchange& exchange) {
      OneRank& own = ranks_[rank.value];
      own.memory = std::move(os::Mapping::anywhere(region_bytes, os::Protection::read_write)).value();
      TcpOptions options;
      options.network = "127.0.0.1";
      own.counted =
          std::make_unique<CountedTransport>(std::move(open_tcp(rank, 2, options, exchange)).value());
      if (kind.is_sealed) own.sealed = std::make_unique<SealedTransport>(*own.counted, kind.cipher, secret);
      Transport& top = kind.is_sealed ? static_cast<Transport&>(*own.sealed) : *own.counted;
      const RegionMemory memory{region, own.memory.data(), region_bytes};
      own.fabric =
          std::make_unique<ActiveMessages>(top, std::span(&memory, 1), own.counters, WaitingPolicy{});
    });
    std::memset(ranks_[1].memory.data(), 1, region_bytes);
    service_ = std::thread([this] {
      while (!stop_.load()) {
        if (!ranks_[1].fabric->progress()) ranks_[1].fabric->wait_for_service();
      }
    });
  }
  ~Pair() {
    stop_.store(true);
    ranks_[1].fabric->wake_service();
    service_.join();
  }
  std::vector<double> time(const Moves& moves, std::size_t rounds) {
    return time_moves(*ranks_[0].fabric, {Rank{1}, region, 0, region_bytes / 2}, moves, rounds);
  }
  std::uint64_t bytes() const { return ranks_[0].counted->bytes.load() + ranks_[1].counted->bytes.load(); }

 private:
  struct OneRank {
    os::Mapping memory;
    trace::Counters counters;
    std::unique_ptr<CountedTransport> counted;
    std::unique_ptr<SealedTransport> sealed;
    std::unique_ptr<ActiveMessages> fabric;
  };
  std::array<OneRank, 2> ranks_;
  std::atomic<bool> stop_{false};
  std::thread service_;
};

double processor_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

struct Costs {
  std::vector<double> samples_ns;
  double processor_ns = 0;
  std::uint64_t bytes_before = 0;
};

void measure(const char* name, const Moves& moves, std::size_t rounds, std::span<const Kind> kinds,
             std::vector<std::unique_ptr<Pair>>& pairs) {
  constexpr std::size_t turns = 40;
  std::vector<Costs> costs(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) costs[i].bytes_before = pairs[i]->bytes();
  for (std::size_t turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const double processor_before = processor_ns();
      const std::vector<double> samples = pairs[i]->time(moves, rounds / turns + 1);
      costs[i].samples_ns.insert(costs[i].samples_ns.end(), samples.begin(), samples.end());
      costs[i].processor_ns += processor_ns() - processor_before;
    }
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto count = static_cast<double>(costs[i].samples_ns.size() * moves.count);
    const double processor_us = costs[i].processor_ns / count / 1000;
    const double bytes = static_cast<double>(pairs[i]->bytes() - costs[i].bytes_before) / count;
    const Row row = summarize(name, std::move(costs[i].samples_ns));
    std::printf("%-24s %-20s %10.2f %12.2f %12.1f\n", name, kinds[i].name, row.median_ns / 1000, processor_us,
                bytes);
  }
}

void run(std::size_t rounds) {
  const Kind kinds[]{{"none", false, Cipher::none},
                     {"crc", true, Cipher::none},
                     {"best cipher", true, LaneKeys::best_cipher()},
                     {"chacha20-poly1305", true, Cipher::chacha20_poly1305}};
  std::vector<std::unique_ptr<Pair>> pairs;
  for (const Kind& kind : kinds) pairs.push_back(std::make_unique<Pair>(kind));
  std::printf("%-24s %-20s %10s %12s %12s\n", "of each", "check", "median us", "processor us", "bytes");
  measure("get of 8 bytes", {Verb::get, 8, 1}, rounds, kinds, pairs);
  measure("64 gets of 8 bytes", {Verb::get, 8, 64}, rounds / 4, kinds, pairs);
  measure("get of 32 KiB", {Verb::get, move_block_bytes, 1}, rounds, kinds, pairs);
  measure("put of 32 KiB", {Verb::put, move_block_bytes, 1}, rounds, kinds, pairs);
  measure("8 gets of 32 KiB", {Verb::get, move_block_bytes, 8}, rounds / 4, kinds, pairs);
}

}  // namespace
}  // namespace musubi::bench

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 20'000;
  if (rounds < 40 || rounds > 10'000'000) {
    std::fprintf(stderr, "usage: seal_costs [rounds]\n");
    return 2;
  }
  musubi::bench::run(static_cast<std::size_t>(rounds));
  return 0;
}
