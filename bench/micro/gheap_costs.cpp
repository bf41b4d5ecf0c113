// Costs of objects in another process's global heap, the memory that they take, and the cost of moving a
// break by the way that the settings name. Usage: musubi run -n 2 gheap_costs [--csv] [--only
// time|memory|breaks] [rounds]

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "musubi/gheap.h"
#include "musubi/musubi.h"
#include "rows.h"

namespace {

using musubi::Random;
using musubi::bench::now_ns;
using musubi::bench::Row;

constexpr std::size_t pairs_per_sample = 1000;
constexpr std::size_t object_bytes = 64;
constexpr std::size_t burst = pairs_per_sample;

int other() {
  return (musubi_rank() + 1) % musubi_size();
}

void fail(const char* what) {
  std::fprintf(stderr, "gheap_costs: %s: %s\n", what, musubi_gerror_text(musubi_gerror()));
  std::exit(1);
}

// `pairs` of them in one call of `use`; a sample is short compared with a time slice.
template <class Use>
Row time_pairs(const std::string& name, std::size_t rounds, std::size_t pairs, Use&& use) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds; ++i) {
    const double start = now_ns();
    for (std::size_t done = 0; done < pairs_per_sample; done += pairs) use();
    if (i >= rounds / 10) samples.push_back((now_ns() - start) / pairs_per_sample);
  }
  return musubi::bench::summarize(name, samples);
}

std::vector<Row> pair_costs(std::size_t rounds) {
  const int proc = other();
  std::vector<Row> rows;
  rows.push_back(time_pairs("malloc + free of 64 bytes", rounds, 1, [] {
    void* volatile memory = std::malloc(object_bytes);
    std::free(memory);
  }));
  rows.push_back(time_pairs("musubi: galloc + gfree of 64 bytes, cached", rounds, 1, [proc] {
    const long place = musubi_galloc(proc, object_bytes);
    if (place < 0 || musubi_gfree(proc, place) != 0) fail("galloc + gfree");
  }));
  static long places[burst];
  rows.push_back(time_pairs("musubi: galloc + gfree of 64 bytes, in batches", rounds, burst, [proc] {
    for (long& place : places) place = musubi_galloc(proc, object_bytes);
    for (const long place : places) {
      if (musubi_gfree(proc, place) != 0) fail("gfree");
    }
  }));
  return rows;
}

// The break goes up and down alternately, so that its mean stays the same.
std::vector<Row> break_costs(std::size_t rounds) {
  constexpr std::size_t moves = 20;
  std::vector<Row> rows;
  const auto add = [&](const char* name, int proc) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < rounds; ++i) {
      const double start = now_ns();
      for (std::size_t done = 0; done < moves; ++done) {
        if (sgbrk(proc, done % 2 == 0 ? 64 : -64) < 0) fail("sgbrk");
      }
      if (i >= rounds / 10) samples.push_back((now_ns() - start) / moves);
    }
    rows.push_back(musubi::bench::summarize(name, samples));
  };
  add("musubi: sgbrk at this process", musubi_rank());
  add("musubi: sgbrk at the other process", other());
  return rows;
}

struct Object {
  int process = -1;
  long offset = 0;
  std::uint64_t bytes = 0;
};

// From 2 bytes to 128 KiB, uniform in the logarithm, so that most are small.
std::uint64_t draw_bytes(Random& random) {
  return static_cast<std::uint64_t>(std::exp2(4 + static_cast<double>(random.below(1000)) * 0.013)) >>
         (random.chance(50) ? 3 : 0);
}

// Random sizes, lifetimes and processes: every turn frees a part of the objects, then each rank continues
// with those of the next rank, so that half of all frees are done at another rank.
void memory_use(std::size_t turns) {
  constexpr std::size_t slots = 20'000;
  const auto ranks = static_cast<std::size_t>(musubi_size());
  void* memory = nullptr;
  if (musubi_rank() == 0) memory = musubi_alloc(ranks * (slots * sizeof(Object) + sizeof(std::uint64_t)));
  musubi_broadcast(&memory);
  auto* const objects = static_cast<Object*>(memory);
  auto* const requested = reinterpret_cast<std::uint64_t*>(objects + ranks * slots);
  Random random(static_cast<std::uint64_t>(musubi_rank()) + 1);
  const auto self = static_cast<std::size_t>(musubi_rank());
  for (std::size_t i = 0; i < slots; ++i) objects[self * slots + i] = Object{};
  std::uint64_t peak = 0;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    Object* const mine = objects + (self + turn) % ranks * slots;
    const std::size_t filled = slots / 4 + random.below(slots * 3 / 4);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < slots; ++i) {
      Object& object = mine[i];
      if (object.process >= 0 && random.chance(40)) {
        if (musubi_gfree(object.process, object.offset) != 0) fail("gfree");
        object.process = -1;
      }
      if (object.process < 0 && i < filled) {
        object = {static_cast<int>(random.below(ranks)), 0, draw_bytes(random)};
        object.offset = musubi_galloc(object.process, object.bytes);
        if (object.offset < 0) fail("galloc");
      }
      if (object.process >= 0) sum += object.bytes;
    }
    requested[self] = sum;
    musubi_barrier();
    std::uint64_t all = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) all += requested[rank];
    peak = std::max(peak, all);
    musubi_barrier();
  }
  std::uint64_t taken = 0;
  for (int rank = 0; rank < musubi_size(); ++rank) {
    long low = 0;
    if (gglimit(rank, &low, nullptr) != 0) fail("gglimit");
    taken += static_cast<std::uint64_t>(low);
  }
  if (self == 0) {
    std::printf("peak requested %llu B\npeak taken %llu B\n", static_cast<unsigned long long>(peak),
                static_cast<unsigned long long>(taken));
  }
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
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  if (ginit(1 << 20) != 0) fail("ginit");
  musubi_barrier();
  if (only.empty() || only == "memory") memory_use(std::max<std::size_t>(rounds / 20, 20));
  const auto print = [&](const char* part, std::vector<Row> (*measure)(std::size_t)) {
    if (!only.empty() && only != part) return;
    if (musubi_rank() == 0) musubi::bench::print_rows(measure(rounds), csv);
    musubi_barrier();
  };
  print("time", pair_costs);
  print("breaks", break_costs);
  return musubi_finalize(0);
}
