// Cost of a get over active messages, compared with the same bytes over the same kind of sockets with nothing
// above them: two ranks, or two threads, of one process; by AF_UNIX sockets, by TCP, and by libfabric over
// TCP, if it is available.
// Usage: message_costs [--csv] [rounds]

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/check.h"
#include "fabric/ofi/ofi.h"
#include "fabric/tcp/tcp.h"
#include "moves.h"
#include "os/tcp.h"
#include "round_trips.h"
#include "rows.h"
#include "tests/conformance/fabric/loopback.h"
#include "two_ranks.h"

namespace musubi::bench {
namespace {

using namespace musubi::fabric;

constexpr RegionId region{0};
constexpr std::size_t region_bytes = std::size_t{64} << 20;
constexpr std::size_t block_bytes = move_block_bytes, long_bytes = std::size_t{1} << 20;
constexpr std::size_t window = 64;

void pin(unsigned core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);  // on a machine with one core the thread stays where it is
}

enum class Kind { unix_sockets, tcp, ofi, ofi_rma };

std::array<os::FileDescriptor, 2> joined_sockets(Kind kind) {
  int pair[2];
  if (kind == Kind::unix_sockets) {
    MUSUBI_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    return {os::FileDescriptor(pair[0]), os::FileDescriptor(pair[1])};
  }
  os::SocketAddress address = std::move(os::addresses_of_network("127.0.0.1")).value()[0];
  const auto listening = std::move(os::listen_at(address, {})).value();
  std::array<os::FileDescriptor, 2> sockets;
  sockets[0] = os::FileDescriptor(connect_to(address));
  sockets[1] = os::FileDescriptor(take_connection(listening.number()));
  for (const auto& socket : sockets) send_at_once(socket.number());
  return sockets;
}

// Both sides sleep in recv, or neither does.
Row ping_pong(Kind kind, const std::string& name, RoundTrip trip, bool asleep, std::size_t rounds) {
  const auto sockets = joined_sockets(kind);
  const Waits waits = asleep ? Waits::asleep : Waits::looking;
  std::thread answering([&] {
    pin(1);
    answer(sockets[1].number(), trip, waits, rounds);
  });
  std::vector<double> samples = ask(sockets[0].number(), trip, waits, rounds);
  answering.join();
  return summarize(name, std::move(samples));
}

// Two ranks of this process.
class Job {
 public:
  virtual ~Job() = default;
  virtual Fabric& fabric(Rank rank) = 0;
  virtual std::byte* memory(Rank rank) = 0;
};

class UnixJob final : public Job {
 public:
  explicit UnixJob(WaitingPolicy policy) {
    auto opened = LoopbackJob::open(2, region_bytes, policy);
    MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
    job_ = std::move(opened).value();
  }
  Fabric& fabric(Rank rank) override { return job_->fabric(rank); }
  std::byte* memory(Rank rank) override { return job_->memory(rank); }

 private:
  std::unique_ptr<LoopbackJob> job_;
};

class NetworkJob final : public Job {
 public:
  NetworkJob(Kind kind, WaitingPolicy policy) {
    open_two_ranks([&](Rank rank, const Exchange& exchange) {
      OneRank& own = ranks_[rank.value];
      own.memory = std::move(os::Mapping::anywhere(region_bytes, os::Protection::read_write)).value();
      const RegionMemory memory{region, own.memory.data(), region_bytes};
      own.transport = open_transport(kind, rank, memory, exchange);
      own.fabric =
          std::make_unique<ActiveMessages>(*own.transport, std::span(&memory, 1), own.counters, policy);
    });
  }
  Fabric& fabric(Rank rank) override { return *ranks_[rank.value].fabric; }
  std::byte* memory(Rank rank) override { return ranks_[rank.value].memory.data(); }

 private:
  static std::unique_ptr<Transport> open_transport(Kind kind, Rank self, const RegionMemory& memory,
                                                   const Exchange& exchange) {
    if (kind == Kind::ofi || kind == Kind::ofi_rma) {
      OfiOptions options;
      options.provider = "tcp;ofi_rxm";
      options.network = "127.0.0.1";
      const OfiReachable reachable{memory, true};
      options.reachable = {&reachable, 1};
      options.rma_bytes_min = kind == Kind::ofi_rma ? 1 : 0;
      return std::move(open_ofi(self, 2, options, exchange)).value();
    }
    TcpOptions options;
    options.network = "127.0.0.1";
    return std::move(open_tcp(self, 2, options, exchange)).value();
  }

  struct OneRank {
    os::Mapping memory;
    trace::Counters counters;
    std::unique_ptr<Transport> transport;
    std::unique_ptr<ActiveMessages> fabric;
  };
  std::array<OneRank, 2> ranks_;
};

// Only the service thread of the second rank runs.
class TwoRanks {
 public:
  TwoRanks(Kind kind, bool asleep) {
    const WaitingPolicy policy{.spin_checks = asleep ? 0u : 1'000'000u, .yields = 0};
    if (kind == Kind::unix_sockets) {
      job_ = std::make_unique<UnixJob>(policy);
    } else {
      job_ = std::make_unique<NetworkJob>(kind, policy);
    }
    std::memset(job_->memory(Rank{1}), 1, region_bytes);
    service_ = std::thread([this, asleep] {
      pin(1);
      Fabric& fabric = job_->fabric(Rank{1});
      while (!stop_.load()) {
        if (!fabric.progress() && asleep) fabric.wait_for_service();
      }
    });
  }
  ~TwoRanks() {
    stop_.store(true);
    job_->fabric(Rank{1}).wake_service();
    service_.join();
  }

  Row moves(const std::string& name, const Moves& moves, std::size_t rounds) {
    const Target target{Rank{1}, region, 0, region_bytes / 16};
    return summarize(name, time_moves(job_->fabric(Rank{0}), target, moves, rounds));
  }

 private:
  std::unique_ptr<Job> job_;
  std::atomic<bool> stop_{false};
  std::thread service_;
};

void add_rows(Kind kind, bool asleep, std::size_t rounds, std::vector<Row>& rows) {
  const std::string prefix = kind == Kind::unix_sockets ? ""
                             : kind == Kind::tcp        ? "tcp "
                             : kind == Kind::ofi        ? "ofi "
                                                        : "ofi rma ";
  const char* const how = asleep ? ", asleep" : ", awake";
  const std::string each = asleep ? "" : ", awake";
  const auto raw = [&](const std::string& name, std::size_t items, std::size_t bytes) {
    rows.push_back(per_item(
        ping_pong(kind, prefix + "sockets alone: " + name, round_trip_of_gets(items, bytes), asleep, rounds),
        items));
  };
  if (kind == Kind::unix_sockets || kind == Kind::tcp) {
    raw(std::string("8 bytes") + how, 1, 8);
    raw(std::string("32 KiB") + how, 1, block_bytes);
    raw("64 of 8 bytes, each" + each, window, 8);
  }
  TwoRanks ranks(kind, asleep);
  const auto gets = [&](const std::string& name, std::size_t bytes, std::size_t count) {
    const std::size_t times = bytes == long_bytes ? rounds / 8 + 1 : rounds;
    rows.push_back(ranks.moves(prefix + "get: " + name, {Verb::get, bytes, count}, times));
  };
  const auto puts = [&](const std::string& name, std::size_t bytes, std::size_t times) {
    rows.push_back(ranks.moves(prefix + "put: " + name, {Verb::put, bytes, 1}, times));
  };
  gets(std::string("8 bytes") + how, 8, 1);
  gets(std::string("32 KiB") + how, block_bytes, 1);
  gets(std::string("1 MiB") + how, long_bytes, 1);
  gets("64 of 8 bytes, each" + each, 8, window);
  gets("8 of 32 KiB, each" + each, block_bytes, 8);
  puts(std::string("32 KiB") + how, block_bytes, rounds);
  puts(std::string("1 MiB") + how, long_bytes, rounds / 8 + 1);
}

std::vector<Row> all_rows(std::size_t rounds) {
  pin(0);
  std::vector<Row> rows;
  std::vector<Kind> kinds{Kind::unix_sockets, Kind::tcp};
  if (auto found = ofi_on_this_host()) {
    kinds.push_back(Kind::ofi);
    kinds.push_back(Kind::ofi_rma);
  } else {
    std::fprintf(stderr, "no rows of ofi: %s\n", found.error().message.c_str());
  }
  for (const Kind kind : kinds) {
    for (const bool asleep : {true, false}) add_rows(kind, asleep, rounds, rows);
  }
  return rows;
}

}  // namespace
}  // namespace musubi::bench

int main(int argc, char** argv) {
  bool csv = false;
  long rounds = 4000;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--csv") == 0) {
      csv = true;
    } else {
      rounds = std::atol(argv[i]);
    }
  }
  if (rounds < 1 || rounds > 10000000) {
    std::fprintf(stderr, "usage: message_costs [--csv] [rounds]\n");
    return 2;
  }
  musubi::bench::print_rows(musubi::bench::all_rows(static_cast<std::size_t>(rounds)), csv);
  return 0;
}
