// Cost of a get between two hosts, compared with the same bytes over bare sockets between them in the same
// run. Rank 0 asks; rank 1 is the target. Rank 0 polls for replies, as waiting threads do if they have cores.
// The target sleeps (in recv(), or, under Musubi, in its service thread) or is awake: it polls for requests,
// or, under Musubi, waits at a barrier. Usage: musubi run --plain --hosts <two> network_costs [--csv] [--only
// sockets] [rounds]

#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "c_api/job.h"
#include "moves.h"
#include "musubi/musubi.h"
#include "os/tcp.h"
#include "round_trips.h"
#include "rows.h"

namespace musubi::bench {
namespace {

constexpr std::size_t window = 64, block_bytes = move_block_bytes;
constexpr std::uint64_t target_bytes = std::uint64_t{4} << 20;

const char* suffix(Waits target) {
  return target == Waits::asleep ? ", target asleep" : ", target awake";
}

// A connection between the two ranks, by the first address of rank 0 that other hosts reach.
os::FileDescriptor connect_ranks() {
  os::SocketAddress address;
  os::FileDescriptor listening, socket;
  if (musubi_rank() == 0) {
    auto addresses = os::addresses_of_network("");
    MUSUBI_CHECK(addresses.ok(), "%s", addresses.error().message.c_str());
    address = addresses.value().front();
    auto opened = os::listen_at(address, {});
    MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
    listening = std::move(opened).value();
  }
  musubi_broadcast_values(&address, sizeof address, 0);
  if (musubi_rank() == 1) {
    socket = os::FileDescriptor(connect_to(address));
  }
  musubi_barrier();  // from here on the connection can be accepted
  if (musubi_rank() == 0) {
    socket = os::FileDescriptor(take_connection(listening.number()));
  }
  send_at_once(socket.number());
  return socket;
}

void sockets_alone(int socket, Waits target, std::size_t rounds, std::vector<Row>& rows) {
  const auto gets = [&](const char* name, std::size_t count, std::size_t bytes) {
    const RoundTrip trip = round_trip_of_gets(count, bytes);
    if (musubi_rank() == 1) return answer(socket, trip, target, rounds);
    std::vector<double> samples = ask(socket, trip, Waits::looking, rounds);
    rows.push_back(per_item(
        summarize(std::string("sockets alone: ") + name + suffix(target), std::move(samples)), count));
  };
  gets("8 bytes", 1, 8);
  gets("32 KiB", 1, block_bytes);
  gets("64 of 8 bytes, each", window, 8);
}

// The target waits for rank 0 to finish: asleep outside of Musubi, or at a barrier.
void wait_for_end(int socket, Waits target) {
  std::byte end{};
  if (target == Waits::asleep) {
    if (musubi_rank() == 0) send_all(socket, {&end, 1});
    if (musubi_rank() == 1) receive_all(socket, {&end, 1}, Waits::asleep);
  }
  musubi_barrier();
}

void gets_by_fabric(int socket, std::uint64_t place, Waits target, std::size_t rounds,
                    std::vector<Row>& rows) {
  auto& fabric = c_api::current_job()->runtime.global_memory().fabric();
  const Target there{Rank{1}, runtime::GlobalMemory::region, place, target_bytes};
  const auto gets = [&](const char* name, std::size_t count, std::size_t bytes) {
    rows.push_back(summarize(std::string("get: ") + name + suffix(target),
                             time_moves(fabric, there, {fabric::Verb::get, bytes, count}, rounds)));
  };
  musubi_barrier();
  if (musubi_rank() == 0) {
    gets("8 bytes", 1, 8);
    gets("32 KiB", 1, block_bytes);
    gets("64 of 8 bytes, each", window, 8);
  }
  wait_for_end(socket, target);
}

std::vector<Row> costs(bool sockets_only, std::size_t rounds) {
  const os::FileDescriptor socket = connect_ranks();
  auto& memory = c_api::current_job()->runtime.global_memory();
  const std::uint64_t place = memory.take(target_bytes);
  MUSUBI_CHECK(place < memory.bytes());
  std::memset(memory.own() + place, 1, target_bytes);
  std::vector<Row> rows;
  for (const Waits target : {Waits::asleep, Waits::looking}) {
    sockets_alone(socket.number(), target, rounds, rows);
    if (!sockets_only) gets_by_fabric(socket.number(), place, target, rounds, rows);
  }
  return rows;
}

}  // namespace
}  // namespace musubi::bench

int main(int argc, char** argv) {
  bool csv = false, sockets_only = false;
  long rounds = 4000;
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--csv") == 0) {
      csv = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      sockets_only = std::strcmp(argv[++i], "sockets") == 0;
    } else {
      rounds = std::atol(argv[i]);
    }
  }
  if (musubi_size() != 2 || rounds < 1) {
    std::fprintf(
        stderr, "usage: musubi run --plain, by two ranks, network_costs [--csv] [--only sockets] [rounds]\n");
    return musubi_finalize(2);
  }
  const auto rows = musubi::bench::costs(sockets_only, static_cast<std::size_t>(rounds));
  if (musubi_rank() == 0) musubi::bench::print_rows(rows, csv);
  return musubi_finalize(0);
}
