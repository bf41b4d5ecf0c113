// `many_locks <kind> [count]`: many locks of a kind, which threads take in turn, and of which one thread
// holds thousands at a time: all must be distinct.
#include <pthread.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "check.h"

namespace {

struct Word {
  Word() { omp_init_lock(&lock); }
  ~Word() { omp_destroy_lock(&lock); }
  void take() { omp_set_lock(&lock); }
  bool try_take() { return omp_test_lock(&lock) != 0; }
  void give_back() { omp_unset_lock(&lock); }
  omp_lock_t lock;
};
struct Nested {
  Nested() { omp_init_nest_lock(&lock); }
  ~Nested() { omp_destroy_nest_lock(&lock); }
  void take() { omp_set_nest_lock(&lock); }
  bool try_take() { return omp_test_nest_lock(&lock) != 0; }
  void give_back() { omp_unset_nest_lock(&lock); }
  omp_nest_lock_t lock;
};
template <class Mutex>
struct Standard {
  void take() { mutex.lock(); }
  bool try_take() { return mutex.try_lock(); }
  void give_back() { mutex.unlock(); }
  Mutex mutex;
};
// Locks of several kinds among other data, at distances that are no power of two.
struct Vertex {
  void take() {
    first.take();
    second.take();
    third.take();
    fourth.take();
  }
  bool try_take() { return first.try_take() || second.try_take() || third.try_take() || fourth.try_take(); }
  void give_back() {
    fourth.give_back();
    third.give_back();
    second.give_back();
    first.give_back();
  }
  int number = 0;
  Word first, second;
  Nested third;
  Standard<std::mutex> fourth;
  char name[9] = {};
};

template <class Lock>
void check(std::size_t count, std::size_t together) {
  const std::unique_ptr<Lock[]> locks(new Lock[count]);
  const std::unique_ptr<long[]> counts(new long[count]());
  const auto use = [&](std::size_t i) {
    locks[i].take();
    ++counts[i];
    locks[i].give_back();
  };
  const int threads = omp_get_max_threads();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) use(i);
#pragma omp parallel
  for (std::size_t i = 0; i < count; i += 64) use(i);
  for (std::size_t i = 0; i < count; ++i) CHECK(counts[i] == (i % 64 == 0 ? 1 + threads : 1));

  const std::size_t first = count / 2;
  for (std::size_t i = first; i < first + together; ++i) locks[i].take();
#pragma omp parallel
  if (omp_get_thread_num() != 0) {
    for (std::size_t i = first; i < first + together; ++i) CHECK(!locks[i].try_take());
  }
  for (std::size_t i = first; i < first + together; ++i) locks[i].give_back();
#pragma omp parallel for schedule(static)
  for (std::size_t i = first; i < first + together; ++i) use(i);
}

}  // namespace

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*check)(std::size_t count, std::size_t together);
    std::size_t count;
  } kinds[] = {{"words", check<Word>, 200000},
               {"nested", check<Nested>, 100000},
               {"mutexes", check<Standard<std::mutex>>, 100000},
               {"recursive", check<Standard<std::recursive_mutex>>, 100000},
               {"shared", check<Standard<std::shared_mutex>>, 100000},
               {"vertices", check<Vertex>, 30000}};
  for (const auto& kind : kinds) {
    if (strcmp(kind.name, argc > 1 ? argv[1] : "words") != 0) continue;
    kind.check(argc > 2 ? strtoul(argv[2], nullptr, 10) : kind.count, 3000);
    puts("verified");
    return 0;
  }
  return 2;
}
