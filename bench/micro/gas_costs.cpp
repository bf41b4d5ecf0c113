// Costs of accesses to relocatable pages compared with the fabric's own, and of a move compared with a copy.
// Usage: musubi run --plain -n 2 gas_costs [--csv] [rounds]
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "c_api/job.h"
#include "fabric/transfer.h"
#include "musubi/gas.h"
#include "musubi/musubi.h"
#include "rows.h"
#include "runtime/threads/thread_executor.h"

namespace {

using namespace musubi;
using bench::now_ns;
using bench::Row;

constexpr std::size_t calls_per_sample = 1000;
constexpr std::size_t small_page = 4096;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "gas_costs: %s: %s\n", what, gas_error_text(gas_error()));
  musubi_abort(1, what);
}

template <class Call>
Row time_calls(const std::string& name, std::size_t rounds, std::size_t calls, Call&& call) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds; ++i) {
    const double start = now_ns();
    for (std::size_t done = 0; done < calls; ++done) call();
    if (i >= rounds / 10) samples.push_back((now_ns() - start) / static_cast<double>(calls));
  }
  return bench::summarize(name, samples);
}

Task<> carry_out(fabric::Fabric& fabric, fabric::Step step) {
  co_await fabric::transfer(fabric, Rank{1}, std::span{&step, 1});
}

// The same words by the fabric alone, through the same executor.
std::vector<Row> raw_costs(std::size_t rounds) {
  runtime::Runtime& runtime = c_api::current_job()->runtime;
  fabric::Fabric& fabric = runtime.global_memory().fabric();
  auto& executor = runtime::ThreadExecutor::of_this_thread(fabric, runtime.counters());
  const fabric::RegionId region = runtime::GlobalMemory::region;
  const std::uint64_t place = runtime.global_memory().take(4096);
  static std::uint64_t word = 1;
  std::vector<Row> rows;
  rows.push_back(time_calls("fabric: get of 8 bytes", rounds, calls_per_sample,
                            [&] { executor.run(carry_out(fabric, fabric::get(region, place, &word, 8))); }));
  rows.push_back(time_calls("fabric: put of 8 bytes", rounds, calls_per_sample,
                            [&] { executor.run(carry_out(fabric, fabric::put(region, place, &word, 8))); }));
  return rows;
}

void hits(gas_address page, std::size_t rounds, std::vector<Row>& rows) {
  static std::uint64_t word = 0;
  rows.push_back(time_calls("gas: get of 8 bytes, known", rounds, calls_per_sample,
                            [&] { require(gas_get(page, &word, 8) == 0, "gas_get"); }));
  rows.push_back(time_calls("gas: put of 8 bytes, known", rounds, calls_per_sample,
                            [&] { require(gas_put(page, &word, 8) == 0, "gas_put"); }));
}

// Accesses more pages, one after the other, than the rank remembers: every get is a miss.
void misses(gas_address pages, std::size_t count, std::size_t rounds, std::vector<Row>& rows) {
  static std::uint64_t word = 0;
  std::size_t next = 0;
  rows.push_back(time_calls("gas: get of 8 bytes, not known", rounds, calls_per_sample, [&] {
    require(gas_get(pages + next * 64, &word, 8) == 0, "gas_get");
    next = (next + 1) % count;
  }));
}

// As many bytes by the fabric alone, from the other rank.
Row raw_copy(std::uint64_t place, std::span<char> to, std::size_t rounds) {
  runtime::Runtime& runtime = c_api::current_job()->runtime;
  fabric::Fabric& fabric = runtime.global_memory().fabric();
  auto& executor = runtime::ThreadExecutor::of_this_thread(fabric, runtime.counters());
  const fabric::Step step = fabric::get(runtime::GlobalMemory::region, place, to.data(), to.size());
  return time_calls("fabric: get of " + std::to_string(to.size()) + " bytes", rounds, 1,
                    [&] { executor.run(carry_out(fabric, step)); });
}

// The page moves to and fro between the two ranks; the time is this rank's half.
void moves(std::size_t rounds, std::vector<Row>& rows) {
  constexpr std::size_t largest = std::size_t{1} << 20;
  const std::uint64_t place = c_api::current_job()->runtime.global_memory().take(largest);
  for (std::size_t bytes = small_page; bytes <= largest; bytes *= 4) {
    const gas_address page = gas_alloc(bytes, bytes, 0);
    require(page != 0, "gas_alloc");
    std::vector<double> samples;
    std::vector<char> from(bytes, 1), to(bytes);
    for (std::size_t i = 0; i < rounds; ++i) {
      musubi_barrier();
      if (musubi_rank() == 1) require(gas_own(page, 1) == 0, "gas_own");
      musubi_barrier();
      const double start = now_ns();
      if (musubi_rank() == 0) require(gas_own(page, 1) == 0, "gas_own");
      if (i >= rounds / 10) samples.push_back(now_ns() - start);
    }
    rows.push_back(bench::summarize("gas: own of " + std::to_string(bytes) + " bytes", samples));
    rows.push_back(time_calls("copy of " + std::to_string(bytes) + " bytes", rounds, 1,
                              [&] { std::memcpy(to.data(), from.data(), bytes); }));
    if (musubi_rank() == 0) rows.push_back(raw_copy(place, to, rounds));
    musubi_barrier();
    require(gas_free(page) == 0, "gas_free");
  }
}

// A thread of each rank takes the page repeatedly while rank 0 accesses it.
void use_while_it_moves(std::size_t rounds, std::vector<Row>& rows) {
  const gas_address page = gas_alloc(small_page, small_page, 0);
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> moved{0};
  std::thread mover([&] {
    musubi_attach_thread();
    for (; !stop.load(); ::usleep(20)) {
      if (gas_where(page) == musubi_rank()) continue;
      require(gas_own(page, 1) == 0, "gas_own");
      moved.fetch_add(1);
    }
    musubi_detach_thread();
  });
  if (musubi_rank() == 0) {
    std::uint64_t word = 0;
    rows.push_back(time_calls("gas: get and put of 8 bytes while the page moves", rounds, 1000, [&] {
      require(gas_put(page, &word, 8) == 0 && gas_get(page, &word, 8) == 0, "gas_put, gas_get");
    }));
  }
  musubi_barrier();
  stop.store(true);
  mover.join();
  if (musubi_rank() == 0) std::fprintf(stderr, "moved to rank 0 %zu times in the meantime\n", moved.load());
  musubi_barrier();
}

}  // namespace

int main(int argc, char** argv) {
  bool csv = false;
  std::size_t rounds = 500;
  if (musubi_init(&argc, &argv) != MUSUBI_OK || musubi_size() != 2) return 1;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--csv") {
      csv = true;
    } else {
      rounds = std::max(1ul, std::strtoul(argv[i], nullptr, 10));
    }
  }
  constexpr std::size_t many = 200'000;
  const gas_address page = gas_alloc(small_page, small_page, 1);
  const gas_address pages = gas_alloc(many * 64, 64, 1);
  require(page != 0 && pages != 0, "gas_alloc");
  std::vector<Row> rows = raw_costs(musubi_rank() == 0 ? rounds : 1);
  if (musubi_rank() == 0) {
    hits(page, rounds, rows);
    misses(pages, many, rounds, rows);
  }
  musubi_barrier();
  moves(rounds, rows);
  use_while_it_moves(rounds, rows);
  if (musubi_rank() == 0) bench::print_rows(rows, csv);
  return musubi_finalize(0);
}
