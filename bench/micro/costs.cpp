// Costs of the basic steps under Musubi, next to the floors of the same run.
// Usage: musubi run -n 2 costs [--csv] [--only faults|cached_faults|lock|barrier] [rounds], or -n 4 for the
// barrier of processes that outnumber two cores. With --only, the program `floors` measures the floors;
// cached_faults are faults on blocks that fit the caches.

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "floors.h"
#include "musubi/musubi.h"

namespace {

using musubi::bench::now_ns;
using musubi::bench::Row;

constexpr std::size_t block_bytes = musubi::bench::fault_block_bytes;
constexpr std::size_t operations_per_sample = 10;
constexpr std::size_t warm_up = 20;
constexpr std::uint32_t lock_number = 1;

// The counter, and the time at which its last holder released the lock.
struct Guarded {
  std::uint64_t counter;
  double released_ns;
};

enum class Fault { read, write, write_after_read };

// Rank 0 writes the blocks in each turn, then rank 1 accesses them. Each kind of fault has memory of its own:
// blocks that both ranks write are merged at their home, and a read of them need not fault.
Row fault_cost(Fault fault, const std::string& name, std::size_t blocks, std::size_t rounds) {
  void* memory = nullptr;
  if (musubi_rank() == 0) memory = musubi_alloc(blocks * block_bytes);
  musubi_broadcast(&memory);
  auto* bytes = static_cast<volatile unsigned char*>(memory);
  std::vector<double> samples;
  // From the second turn on, notices say where the blocks are: the steady state of a program.
  const std::size_t turns = 1 + (rounds + blocks - 1) / blocks;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    if (musubi_rank() == 0) std::memset(memory, static_cast<int>(turn % 100 + 1), blocks * block_bytes);
    musubi_barrier();
    if (musubi_rank() == 1) {
      if (turn == 1) samples.clear();
      if (fault == Fault::write_after_read) {
        for (std::size_t i = 0; i < blocks; ++i) static_cast<void>(bytes[i * block_bytes]);
      }
      for (std::size_t i = 0; i < blocks; ++i) {
        const double start = now_ns();
        if (fault == Fault::read) {
          static_cast<void>(bytes[i * block_bytes]);
        } else {
          bytes[i * block_bytes] = 7;
        }
        samples.push_back(now_ns() - start);
      }
    }
    musubi_barrier();
  }
  if (musubi_rank() == 0) musubi_free(memory);
  return musubi::bench::summarize(name, samples);
}

std::vector<Row> fault_costs(std::size_t blocks, const std::string& suffix, std::size_t rounds) {
  return {
      fault_cost(Fault::read, "musubi: read fault with fetch of 32 KiB" + suffix, blocks, rounds),
      fault_cost(Fault::write, "musubi: write fault with fetch and twin of 32 KiB" + suffix, blocks, rounds),
      fault_cost(Fault::write_after_read, "musubi: write fault with twin of 32 KiB" + suffix, blocks,
                 rounds)};
}

Row barrier_cost(std::size_t rounds) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds + warm_up; ++i) {
    const double start = now_ns();
    for (std::size_t k = 0; k < operations_per_sample; ++k) musubi_barrier();
    if (i >= warm_up) samples.push_back((now_ns() - start) / operations_per_sample);
  }
  return musubi::bench::summarize("musubi: empty barrier of " + std::to_string(musubi_size()) + " ranks",
                                  samples);
}

// From the release of the lock by one rank to the other's update of the data that it guards.
Row lock_cost(std::size_t rounds) {
  Guarded* guarded = nullptr;
  void* memory = nullptr;
  if (musubi_rank() == 0) memory = musubi_alloc(sizeof(Guarded));
  musubi_broadcast(&memory);
  guarded = static_cast<Guarded*>(memory);
  if (musubi_rank() == 0) *guarded = Guarded{0, now_ns()};
  musubi_barrier();
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds + warm_up; ++i) {
    musubi_lock(lock_number);
    ++guarded->counter;
    const double now = now_ns();
    if (i >= warm_up) samples.push_back(now - guarded->released_ns);
    guarded->released_ns = now_ns();
    musubi_unlock(lock_number);
  }
  musubi_barrier();
  if (guarded->counter != static_cast<std::uint64_t>(musubi_size()) * (rounds + warm_up)) {
    std::fprintf(stderr, "costs: the counter under the lock is wrong\n");
    musubi_finalize(1);
    std::exit(1);
  }
  return musubi::bench::summarize("musubi: lock + increment, handed between ranks", samples);
}

// Whether this process is the first of the job to lock `path`; the lock lasts as long as the process.
bool first_to_lock(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  return file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0;
}

// One rank measures the floors, before the runtime takes hold of the process; the other ranks sleep until it
// joins. They print no rows.
std::vector<Row> floors_of_first(const char* path, std::size_t rounds) {
  if (!first_to_lock(path)) return {};
  // The launcher may have pinned this rank to one core; the floors are about two.
  cpu_set_t pinned, all;
  sched_getaffinity(0, sizeof pinned, &pinned);
  std::memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
  std::vector<Row> floors = musubi::bench::all_floors(rounds);
  sched_setaffinity(0, sizeof pinned, &pinned);
  return floors;
}

}  // namespace

int main(int argc, char** argv) {
  bool csv = false;
  std::string only;
  std::size_t rounds = 2000;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--csv") == 0) {
      csv = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else {
      rounds = static_cast<std::size_t>(std::atol(argv[i]));
    }
  }
  std::vector<Row> floors;
  if (only.empty()) floors = floors_of_first(argv[0], rounds);
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  if (!floors.empty()) musubi::bench::print_rows(floors, csv);
  std::fflush(stdout);
  musubi_barrier();
  std::vector<Row> rows;
  const bool several = musubi_size() >= 2;
  const bool cached = only == "cached_faults";
  if (several && (only.empty() || only == "faults" || cached)) {
    for (const auto& blocks : std::span(musubi::bench::fault_blocks).first(cached ? 1 : 2)) {
      for (Row& row : fault_costs(blocks.count, blocks.suffix, rounds)) rows.push_back(std::move(row));
    }
  }
  if (several && (only.empty() || only == "lock")) rows.push_back(lock_cost(rounds));
  if (only.empty() || only == "barrier") rows.push_back(barrier_cost(rounds));
  // Rank 1 timed the faults.
  if (musubi_rank() == (several ? 1 : 0)) musubi::bench::print_rows(rows, csv);
  return musubi_finalize(rows.empty() ? 1 : 0);
}
