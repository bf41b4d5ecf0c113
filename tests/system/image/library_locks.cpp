// Objects that libstdc++ guards by mutexes of its own: shared pointers that threads exchange by functions,
// and the lists of iterators that debug mode keeps. Threads of all ranks use both at the same time.
#define _GLIBCXX_DEBUG
#include <omp.h>

#include <atomic>
#include <cstdio>
#include <list>
#include <memory>
#include <vector>

#include "check.h"

enum { rounds = 600 };

static std::atomic<int> living{0};

struct Counted {
  explicit Counted(int given) : value(given) { ++living; }
  ~Counted() {
    value = -1;
    --living;
  }
  int value;
};

static std::shared_ptr<Counted> current, other;
static std::vector<int> numbers(100, 1);
static std::list<int> words(50, 2);

static void exchange_pointers() {
  current = std::make_shared<Counted>(0);
  other = std::make_shared<Counted>(0);
  int bad = 0, won = 0;
#pragma omp parallel reduction(+ : bad, won)
  for (int i = 0; i < rounds; ++i) {
    const std::shared_ptr<Counted> seen = std::atomic_load(&current);
    if (seen->value < 0) ++bad;
    if (i % 3 == 0) std::atomic_store(&current, std::make_shared<Counted>(i));
    if (i % 3 == 1) std::atomic_exchange(&other, seen);
    std::shared_ptr<Counted> expected = seen;
    won += std::atomic_compare_exchange_strong(&current, &expected, std::make_shared<Counted>(i)) ? 1 : 0;
  }
  CHECK(bad == 0 && won > 0);
  current.reset();
  other.reset();
  CHECK(living.load() == 0);
}

// Each iterator enters the list of its container, and leaves it.
static void walk_containers() {
  long sum = 0;
#pragma omp parallel reduction(+ : sum)
  for (int i = 0; i < rounds / 20; ++i) {
    for (auto at = numbers.begin(); at != numbers.end(); ++at) sum += *at;
    for (const int word : words) sum += word;
  }
  CHECK(sum == omp_get_max_threads() * (rounds / 20) * 200L);
  // An iterator that one thread has made, and that another thread invalidates.
  std::vector<int>::iterator first = numbers.begin();
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) numbers.clear();
  CHECK(first._M_singular());
}

int main() {
  exchange_pointers();
  walk_containers();
  std::printf("library_locks: passed\n");
}
