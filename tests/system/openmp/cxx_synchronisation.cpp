// The locks and conditions of C++ and POSIX between OpenMP threads, and one-time initialisation.
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "check.h"

static const int rounds = 100;
static std::mutex plain;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static pthread_mutex_t posix_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking;
static long counts[4];
static int threads;

static void count_deeper(int depth) {
  const std::lock_guard<std::recursive_mutex> hold(recursive);
  if (depth == 0) {
    ++counts[1];
  } else {
    count_deeper(depth - 1);
  }
}

static void exclude_each_other() {
  for (long& count : counts) count = 0;
#pragma omp parallel
  for (int i = 0; i < rounds; ++i) {
    {
      const std::lock_guard<std::mutex> hold(plain);
      ++counts[0];
    }
    count_deeper(3);
    if (timed.try_lock_for(std::chrono::minutes(5))) {
      ++counts[2];
      timed.unlock();
    }
    while (pthread_mutex_trylock(&posix_mutex) != 0) usleep(100);
    ++counts[3];
    pthread_mutex_unlock(&posix_mutex);
  }
  for (const long count : counts) CHECK(count == static_cast<long>(rounds) * threads);
}

static std::shared_mutex readers_and_writers;

static void read_and_write() {
  long first = 0, second = 0;
#pragma omp parallel
  for (int i = 0; i < rounds; ++i) {
    if (i % 4 == 0) {
      const std::unique_lock hold(readers_and_writers);
      ++first;
      ++second;
    } else {
      const std::shared_lock hold(readers_and_writers);
      CHECK(first == second);
    }
  }
  CHECK(first == static_cast<long>(rounds / 4) * threads);
}

static void check_errors() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  CHECK(pthread_mutex_init(&checking, &attributes) == 0);
  CHECK(pthread_mutex_lock(&checking) == 0);
  CHECK(pthread_mutex_lock(&checking) == EDEADLK);
  int busy = 0;
#pragma omp parallel reduction(+ : busy)
  if (omp_get_thread_num() != 0) busy += pthread_mutex_trylock(&checking) == EBUSY;
  CHECK(busy == threads - 1);
  CHECK(timed.try_lock());
#pragma omp parallel
  if (omp_get_thread_num() != 0) CHECK(!timed.try_lock_for(std::chrono::milliseconds(5)));
  timed.unlock();
  CHECK(pthread_mutex_unlock(&checking) == 0 && pthread_mutex_destroy(&checking) == 0);
}

struct Account {
  std::mutex guard;
  long balance = 1000;
};

// Mutexes on the heap, two held at a time.
static void transfer_between_accounts() {
  std::vector<std::unique_ptr<Account>> accounts(8);
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < 8; ++i) accounts[i] = std::make_unique<Account>();
#pragma omp parallel
  for (int i = 0; i < rounds; ++i) {
    Account &from = *accounts[(i + omp_get_thread_num()) % 8], &to = *accounts[(i * 3 + 1) % 8];
    if (&from == &to) continue;
    const std::scoped_lock hold(from.guard, to.guard);
    --from.balance;
    ++to.balance;
  }
  long sum = 0;
  for (const auto& account : accounts) sum += account->balance;
  CHECK(sum == 8000);
}

static std::deque<int> queue;
static std::condition_variable filled, emptied;

// The first thread produces, the other threads consume.
static void hand_over_by_conditions() {
  const int items = 200;
  long consumed = 0, sum = 0;
#pragma omp parallel reduction(+ : consumed, sum)
  {
    if (omp_get_thread_num() == 0) {
      for (int i = 1; i <= items + threads - 1; ++i) {
        std::unique_lock<std::mutex> hold(plain);
        emptied.wait(hold, [] { return queue.size() < 5; });
        queue.push_back(i <= items ? i : 0);
        filled.notify_one();
      }
    }
    for (bool last = omp_get_thread_num() == 0; !last;) {
      std::unique_lock<std::mutex> hold(plain);
      while (!filled.wait_for(hold, std::chrono::minutes(5), [] { return !queue.empty(); })) {
      }
      const int item = queue.front();
      queue.pop_front();
      emptied.notify_all();
      last = item == 0;
      consumed += item != 0;
      sum += item;
    }
  }
  CHECK(consumed == items && sum == static_cast<long>(items) * (items + 1) / 2);
  queue.clear();
  std::unique_lock<std::mutex> hold(plain);
  CHECK(filled.wait_for(hold, std::chrono::milliseconds(5)) == std::cv_status::timeout);
}

static int built = 0;

struct Registry {
  Registry() {
    __atomic_fetch_add(&built, 1, __ATOMIC_SEQ_CST);
    usleep(5000);
    for (int i = 0; i < 100; ++i) words.push_back(std::to_string(i));
  }
  std::vector<std::string> words;
};

static Registry& registry() {
  static Registry only;
  return only;
}

static Registry& registry_at_second_attempt(int* attempts) {
  static Registry only = [attempts] {
#pragma omp atomic
    ++*attempts;
    if (__atomic_load_n(attempts, __ATOMIC_SEQ_CST) == 1) throw std::string("not yet");
    return Registry();
  }();
  return only;
}

static std::once_flag flag;
static pthread_once_t control = PTHREAD_ONCE_INIT;
static std::string made_once;
static int posix_calls = 0;

static void initialise_once() {
  int attempts = 0, failures = 0;
#pragma omp parallel reduction(+ : failures)
  {
    CHECK(registry().words.size() == 100 && registry().words[57] == "57");
    std::call_once(flag, [] { made_once += "made once"; });
    CHECK(made_once == "made once");
    pthread_once(&control, [] { ++posix_calls; });
    CHECK(posix_calls == 1);
    try {
      registry_at_second_attempt(&attempts);
    } catch (const std::string&) {
      ++failures;
    }
#pragma omp barrier
    CHECK(registry_at_second_attempt(&attempts).words[57] == "57");
  }
  CHECK(failures == 1 && attempts == 2 && built == 2);
}

int main() {
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  exclude_each_other();
  read_and_write();
  check_errors();
  transfer_between_accounts();
  if (threads > 1) hand_over_by_conditions();
  initialise_once();
  exclude_each_other();
  return 0;
}
