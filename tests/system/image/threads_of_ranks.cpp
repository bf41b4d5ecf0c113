// Threads that the program creates at any rank: other threads join and name them and use data on their
// stacks, and no two have one id.
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include "check.h"

namespace {

int members() {
  return omp_get_max_threads();
}
int member() {
  return omp_get_thread_num();
}
// Each acts on the thread that the next rank has made.
int next() {
  return (member() + 1) % omp_get_num_threads();
}

// Plain memory, which the thread wrote before it ended.
std::vector<int> written;

void check_joins() {
  written.assign(members(), 0);
  std::vector<std::thread> threads(members());
  std::vector<std::future<int>> futures(members());
#pragma omp parallel
  {
    const int i = member();
    threads[i] = std::thread([i] { written[i] = i + 1; });
    futures[i] = std::async(std::launch::async, [i] { return i * i; });
  }
  std::set<std::thread::id> ids;
  for (const std::thread& thread : threads) ids.insert(thread.get_id());
  CHECK(ids.size() == threads.size());
  for (int i = 0; i < members(); ++i) {
    threads[i].join();
    CHECK(written[i] == i + 1 && futures[i].get() == i * i);
  }
}

std::atomic<int> may_end;

void* wait_and_return(void* value) {
  while (may_end.load() == 0) usleep(1000);
  return value;
}

void check_forms() {
  std::vector<pthread_t> threads(members());
  std::vector<thrd_t> standard(members());
  may_end = 0;
#pragma omp parallel
  {
    CHECK(pthread_create(&threads[member()], nullptr, wait_and_return, &written[member()]) == 0);
    CHECK(thrd_create(
              &standard[member()], [](void* given) { return *static_cast<int*>(given); },
              &written[member()]) == thrd_success);
#pragma omp barrier
    void* result = nullptr;
    timespec soon{};
    CHECK(pthread_tryjoin_np(threads[next()], &result) == EBUSY);
    clock_gettime(CLOCK_REALTIME, &soon);
    CHECK(pthread_timedjoin_np(threads[next()], &result, &soon) == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &soon);
    CHECK(pthread_clockjoin_np(threads[next()], &result, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    int status = -1;
    CHECK(thrd_join(standard[next()], &status) == thrd_success && status == next() + 1);
#pragma omp barrier
    may_end = 1;
    CHECK(pthread_join(threads[next()], &result) == 0 && result == &written[next()]);
  }
}

void* sleep_for_ever(void*) {
  while (true) pause();
}

void check_cancellation() {
  std::vector<pthread_t> threads(members());
#pragma omp parallel
  {
    CHECK(pthread_create(&threads[member()], nullptr, sleep_for_ever, nullptr) == 0);
#pragma omp barrier
    void* result = nullptr;
    CHECK(pthread_cancel(threads[next()]) == 0);
    CHECK(pthread_join(threads[next()], &result) == 0 && result == PTHREAD_CANCELED);
  }
}

std::atomic<int> ended, handled;

void* end_soon(void*) {
  while (may_end.load() == 0) usleep(1000);
  ended += 1;
  return nullptr;
}

void handle(int, siginfo_t* information, void*) {
  handled += information->si_value.sival_int;
}

void check_names() {
  std::vector<pthread_t> threads(members());
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
  may_end = ended = handled = 0;
#pragma omp parallel
  {
    CHECK(pthread_create(&threads[member()], nullptr, end_soon, nullptr) == 0);
#pragma omp barrier
    const pthread_t thread = threads[next()];
    char name[16];
    CHECK(pthread_setname_np(thread, "named") == 0);
    CHECK(pthread_getname_np(thread, name, sizeof name) == 0 && strcmp(name, "named") == 0);
    CHECK(pthread_setname_np(thread, "a name that is too long") == ERANGE);
    int policy = -1;
    sched_param parameters{};
    CHECK(pthread_getschedparam(thread, &policy, &parameters) == 0 && policy == SCHED_OTHER);
    CHECK(pthread_setschedparam(thread, SCHED_BATCH, &parameters) == 0);
    CHECK(pthread_getschedparam(thread, &policy, &parameters) == 0 && policy == SCHED_BATCH);
    cpu_set_t processors;
    CHECK(pthread_getaffinity_np(thread, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) > 0);
    CHECK(pthread_setaffinity_np(thread, sizeof processors, &processors) == 0);
    pthread_attr_t attributes;
    void* low = nullptr;
    size_t bytes = 0;
    CHECK(pthread_getattr_np(thread, &attributes) == 0);
    CHECK(pthread_attr_getstack(&attributes, &low, &bytes) == 0);
    CHECK(static_cast<char*>(low) < reinterpret_cast<char*>(thread) &&
          reinterpret_cast<char*>(thread) < static_cast<char*>(low) + bytes);
    sigval value{};
    value.sival_int = 5;
    CHECK(pthread_sigqueue(thread, SIGUSR1, value) == 0 && pthread_kill(thread, 0) == 0);
    CHECK(pthread_detach(thread) == 0);
#pragma omp barrier
    may_end = 1;
  }
  while (ended.load() != members()) usleep(1000);
  CHECK(handled == 5 * members());
}

struct Point {
  long x, y;
};

// The team works on data on the stack of a thread that is not in it.
void check_stacks() {
  for (int i = 0; i < 20; ++i) {
    Point* place = nullptr;
    std::atomic<int> stage{0};
    std::thread thread([&] {
      Point points[100] = {};
      for (int k = 0; k < 100; ++k) points[k].x = k;
      place = points;
      stage = 1;
      while (stage.load() != 2) usleep(100);
      for (int k = 0; k < 100; ++k) CHECK(points[k].y == k + i);
    });
    while (stage.load() != 1) usleep(100);
#pragma omp parallel for
    for (int k = 0; k < 100; ++k) place[k].y = place[k].x + i;
    stage = 2;
    thread.join();
  }
}

// Far more threads than stacks, so that stacks are reused.
void check_churn() {
  std::atomic<long> sum{0};
#pragma omp parallel
  for (int i = 0; i < 300; ++i) {
    std::thread one([&] { sum += 1; });
    std::thread([&] { sum += 2; }).detach();
    one.join();
  }
  while (sum.load() != 900L * members()) usleep(1000);
}

}  // namespace

int main() {
  check_joins();
  check_forms();
  check_cancellation();
  check_names();
  check_stacks();
  check_churn();
  printf("threads_of_ranks: passed\n");
  return 0;
}
