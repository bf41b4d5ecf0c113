// Waits of C++20 between threads of a team, and of threads that the program created: std::atomic's, latches,
// barriers, semaphores and futures sleep by futex(2), which each of them calls inline.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>

#include "check.h"

static std::atomic<int> flag{0};
static std::atomic<bool> small_flag{false};
static std::atomic<long> turn{0};
static long data[4096];

// So late that waiters already sleep.
static void come_late() {
  usleep(30'000);
}

static void wait_for_a_flag() {
  flag = 0;
  small_flag = false;
  data[0] = data[2048] = 0;
#pragma omp parallel
  {
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      come_late();
      data[0] = 17;
      flag.store(1);
      flag.notify_all();
      come_late();
      data[2048] = 18;
      small_flag.store(true, std::memory_order_release);
      small_flag.notify_all();
    } else {
      flag.wait(0);
      CHECK(flag.load() == 1);
      CHECK(data[0] == 17);
      small_flag.wait(false, std::memory_order_acquire);
      CHECK(data[2048] == 18);
    }
  }
}

static void take_turns() {
  turn = 0;
  const int threads = omp_get_max_threads();
  long sum = 0;
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < 20; ++round) {
    const long mine = static_cast<long>(round) * threads + omp_get_thread_num();
    for (long seen; (seen = turn.load()) != mine;) turn.wait(seen);
    CHECK(sum == mine);
    ++sum;
    turn.store(mine + 1);
    turn.notify_all();
  }
  CHECK(sum == 20L * threads);
}

static void meet() {
  const int threads = omp_get_max_threads();
  std::latch all_begun(threads);
  std::barrier<> step(threads);
  std::counting_semaphore<64> places(1);
  std::vector<long> parts(static_cast<std::size_t>(threads));
  long guarded = 0;
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    if (me == 0) come_late();
    all_begun.arrive_and_wait();
    for (long round = 1; round <= 10; ++round) {
      parts[static_cast<std::size_t>(me)] = round * (me + 1);
      step.arrive_and_wait();
      for (int other = 0; other < threads; ++other)
        CHECK(parts[static_cast<std::size_t>(other)] == round * (other + 1));
      step.arrive_and_wait();
      places.acquire();
      ++guarded;
      places.release();
    }
  }
  CHECK(guarded == 10L * threads);
}

static void await_results() {
  std::vector<std::future<long>> results;
  std::promise<long> start;
  std::shared_future<long> begun = start.get_future().share();
  for (long i = 0; i < 4; ++i) {
    results.push_back(std::async(std::launch::async, [i, begun] {
      const long base = begun.get();
      come_late();
      return base + i;
    }));
  }
  come_late();
  start.set_value(100);
  for (long i = 0; i < 4; ++i) CHECK(results[static_cast<std::size_t>(i)].get() == 100 + i);
}

static long call_futex(int* word, int operation, int value, const timespec* time) {
  return ::syscall(SYS_futex, word, operation, value, time, nullptr, FUTEX_BITSET_MATCH_ANY);
}

static int word = 5;

static void check_calls() {
  const timespec short_time{0, 3'000'000}, no_time{0, -1};
  CHECK(call_futex(&word, FUTEX_WAIT_PRIVATE, 4, nullptr) == -1 && errno == EAGAIN);
  CHECK(call_futex(&word, FUTEX_WAIT, 5, &short_time) == -1 && errno == ETIMEDOUT);
  CHECK(call_futex(&word, FUTEX_WAIT, 5, &no_time) == -1 && errno == EINVAL);
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  CHECK(call_futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 5, &now) == -1 && errno == ETIMEDOUT);
  CHECK(call_futex(&word, FUTEX_WAKE_PRIVATE, 1, nullptr) == 0);
  std::thread other([] {
    come_late();
    __atomic_store_n(&word, 6, __ATOMIC_SEQ_CST);
    call_futex(&word, FUTEX_WAKE_PRIVATE, 1, nullptr);
  });
  while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 5) call_futex(&word, FUTEX_WAIT_PRIVATE, 5, nullptr);
  other.join();
  __atomic_store_n(&word, 5, __ATOMIC_SEQ_CST);
}

int main() {
  for (int repeat = 0; repeat < 3; ++repeat) {
    wait_for_a_flag();
    take_turns();
    meet();
    await_results();
    check_calls();
  }
  printf("all waits ended\n");
  return 0;
}
