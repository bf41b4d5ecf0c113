// What a get costs over active messages, beside what the same bytes cost over the same kind of sockets with
// nothing above them: two ranks, or two threads, of one process. Usage: message_costs [--csv] [rounds]

#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "fabric/loopback/loopback.h"
#include "rows.h"

namespace musubi::bench {
namespace {

using namespace musubi::fabric;

constexpr RegionId region{0};
constexpr std::size_t region_bytes = std::size_t{64} << 20;
constexpr std::size_t block_bytes = 32768;
constexpr std::size_t window = 64;
// As the engine has them on its lanes for a get.
constexpr std::size_t request_bytes = 32, reply_header_bytes = 16;

void pin(unsigned core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);  // on a machine with one core it stays where it is
}

void read_all(int socket, std::byte* to, std::size_t bytes, int flags) {
  while (bytes != 0) {
    const ssize_t got = ::recv(socket, to, bytes, flags);
    if (got < 0 && flags != 0) continue;
    MUSUBI_CHECK(got > 0);
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

void write_all(int socket, const std::byte* from, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t sent = ::send(socket, from, bytes, 0);
    MUSUBI_CHECK(sent > 0);
    from += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

// One side sends `asked` bytes, the other `answered` bytes back; both sleep in recv, or neither does.
Row ping_pong(const char* name, std::size_t asked, std::size_t answered, bool asleep, std::size_t rounds) {
  int sockets[2];
  MUSUBI_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  const int flags = asleep ? 0 : MSG_DONTWAIT;
  std::thread answering([&] {
    pin(1);
    std::vector<std::byte> request(asked), reply(answered);
    for (std::size_t i = 0; i < rounds; ++i) {
      read_all(sockets[1], request.data(), asked, flags);
      write_all(sockets[1], reply.data(), answered);
    }
  });
  std::vector<std::byte> request(asked), reply(answered);
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds; ++i) {
    const double begin = now_ns();
    write_all(sockets[0], request.data(), asked);
    read_all(sockets[0], reply.data(), answered, flags);
    samples.push_back(now_ns() - begin);
  }
  answering.join();
  ::close(sockets[0]);
  ::close(sockets[1]);
  return summarize(name, std::move(samples));
}

// Two ranks; the service thread of the second is the only thread of its that runs.
class TwoRanks {
 public:
  explicit TwoRanks(bool asleep) {
    auto opened = LoopbackJob::open(2, region_bytes, {.spin_checks = asleep ? 0u : 1'000'000u, .yields = 0});
    MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
    job_ = std::move(opened).value();
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

  // Gets of `bytes` bytes, `count` posted at once and then awaited. A sample is one of them.
  Row gets(const char* name, std::size_t bytes, std::size_t count, std::size_t rounds) {
    Fabric& fabric = job_->fabric(Rank{0});
    std::vector<std::byte> local(bytes * count);
    std::vector<Step> steps(count);
    std::vector<Event> completions(count);
    const std::atomic<bool> never{false};
    std::vector<double> samples;
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t offset = (round * count + i) * block_bytes % (region_bytes / 16);
        steps[i] = get(region, offset, local.data() + i * bytes, bytes);
        completions[i].reset();
      }
      const double begin = now_ns();
      for (std::size_t i = 0; i < count; ++i) {
        while (fabric.post(Rank{1}, {&steps[i], 1}, completions[i]) == Outcome::busy) fabric.progress();
      }
      for (const Event& completion : completions) {
        while (!completion.is_set()) {
          if (!fabric.progress()) fabric.wait(never);
        }
      }
      samples.push_back((now_ns() - begin) / static_cast<double>(count));
    }
    MUSUBI_CHECK(local.back() == std::byte{1});
    return summarize(name, std::move(samples));
  }

 private:
  std::unique_ptr<LoopbackJob> job_;
  std::atomic<bool> stop_{false};
  std::thread service_;
};

Row per_item(Row row, std::size_t items) {
  for (double* ns : {&row.median_ns, &row.p10_ns, &row.p90_ns}) *ns /= static_cast<double>(items);
  return row;
}

std::vector<Row> all_rows(std::size_t rounds) {
  pin(0);
  std::vector<Row> rows;
  for (const bool asleep : {true, false}) {
    const auto raw = [&](const char* name, std::size_t items, std::size_t bytes) {
      rows.push_back(per_item(
          ping_pong(name, items * request_bytes, items * (bytes + reply_header_bytes), asleep, rounds),
          items));
    };
    raw(asleep ? "sockets alone: 8 bytes, asleep" : "sockets alone: 8 bytes, awake", 1, 8);
    raw(asleep ? "sockets alone: 32 KiB, asleep" : "sockets alone: 32 KiB, awake", 1, block_bytes);
    raw(asleep ? "sockets alone: 64 of 8 bytes, each" : "sockets alone: 64 of 8 bytes, each, awake", window,
        8);
    TwoRanks ranks(asleep);
    rows.push_back(ranks.gets(asleep ? "get: 8 bytes, asleep" : "get: 8 bytes, awake", 8, 1, rounds));
    rows.push_back(ranks.gets(asleep ? "get: 32 KiB, asleep" : "get: 32 KiB, awake", block_bytes, 1, rounds));
    rows.push_back(ranks.gets(asleep ? "get: 64 of 8 bytes, each" : "get: 64 of 8 bytes, each, awake", 8,
                              window, rounds));
    rows.push_back(ranks.gets(asleep ? "get: 8 of 32 KiB, each" : "get: 8 of 32 KiB, each, awake",
                              block_bytes, 8, rounds));
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
