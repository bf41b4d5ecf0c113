// Atomics that the compiler leaves to libatomic: of 16 bytes, which are one instruction, and wider ones,
// which it guards by locks of its own. A critical section changes data next to them, so that pages are open
// while they run. No update is ever lost.
#include <atomic>

#include "check.h"

namespace {

constexpr int count = 1000;

struct alignas(16) Pair {
  long once, twice;
};
struct Wide {
  long once, twice, thrice;
};

struct Together {
  std::atomic<Pair> pair{};
  std::atomic<Wide> wide{};
  long double sum = 0;
  long in_critical = 0;
};
Together in_globals;

void change(Together& together) {
#pragma omp parallel for
  for (int i = 0; i < count; ++i) {
    Pair pair = together.pair.load();
    while (!together.pair.compare_exchange_weak(pair, {pair.once + 1, pair.twice + 2})) {
    }
    Wide wide = together.wide.load();
    while (!together.wide.compare_exchange_weak(wide, {wide.once + 1, wide.twice + 2, wide.thrice + 3})) {
    }
#pragma omp atomic
    together.sum += 0.5L;
#pragma omp critical
    ++together.in_critical;
  }
  const Pair pair = together.pair;
  const Wide wide = together.wide;
  CHECK(pair.once == count && pair.twice == 2L * count);
  CHECK(wide.once == count && wide.twice == 2L * count && wide.thrice == 3L * count);
  CHECK(together.sum == count / 2 && together.in_critical == count);
}

}  // namespace

int main() {
  change(in_globals);
  auto* const on_heap = new Together;
  change(*on_heap);
  delete on_heap;
  puts("no update was lost");
  return 0;
}
