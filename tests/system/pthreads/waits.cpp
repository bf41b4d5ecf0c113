// Every way of C++ and POSIX in which threads wait for each other carries the data of plain memory with it.
#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <source_location>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int threads = 3, rounds = 12, words = 600;

// Plain words, written by one thread at a time.
struct Data {
  long word[words] = {};
  void fill(long value) {
    for (long& each : word) each = value;
  }
  void check(long value, std::source_location from = std::source_location::current()) const {
    for (const long each : word) {
      if (each == value) continue;
      fprintf(stderr, "line %u: %ld in place of %ld\n", from.line(), each, value);
      exit(1);
    }
  }
};

template <class Work>
void run(Work work) {
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i) team.emplace_back([&work, i] { work(i); });
  for (std::thread& each : team) each.join();
}

void check_mutexes() {
  std::mutex plain;
  std::recursive_timed_mutex nested;
  std::shared_mutex shared;
  pthread_spinlock_t spin;
  CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
  Data of_plain, of_nested, of_shared, of_spin;
  run([&](int) {
    for (int round = 0; round < rounds; ++round) {
      {
        const std::lock_guard held(plain);
        of_plain.check(of_plain.word[0]);
        of_plain.fill(of_plain.word[0] + 1);
      }
      {
        const std::lock_guard held(nested);
        const std::unique_lock again(nested, std::chrono::seconds(60));
        CHECK(again.owns_lock());
        of_nested.check(of_nested.word[0]);
        of_nested.fill(of_nested.word[0] + 1);
      }
      {
        const std::shared_lock held(shared);
        of_shared.check(of_shared.word[0]);
      }
      {
        const std::lock_guard held(shared);
        of_shared.fill(of_shared.word[0] + 1);
      }
      CHECK(pthread_spin_lock(&spin) == 0);
      of_spin.fill(of_spin.word[0] + 1);
      CHECK(pthread_spin_unlock(&spin) == 0);
    }
  });
  for (const Data* each : {&of_plain, &of_nested, &of_shared, &of_spin}) each->check(threads * rounds);
}

// A ring: each thread waits for its turn.
void check_conditions() {
  std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable_any changed_any;
  int turn = 0;
  Data data;
  run([&](int i) {
    for (int round = 0; round < rounds; ++round) {
      std::unique_lock held(mutex);
      if (i == 0) {
        changed_any.wait(held, [&] { return turn % threads == i; });
      } else {
        changed.wait(held, [&] { return turn % threads == i; });
      }
      data.check(turn);
      data.fill(++turn);
      changed.notify_all();
      changed_any.notify_one();
    }
  });
  data.check(threads * rounds);
  std::unique_lock held(mutex);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(!changed.wait_for(held, std::chrono::milliseconds(30), [] { return false; }));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(30));
}

void check_meetings() {
  std::barrier meeting(threads);
  pthread_barrier_t of_posix;
  CHECK(pthread_barrier_init(&of_posix, nullptr, threads) == 0);
  std::vector<Data> data(threads);
  std::atomic<int> last{0};
  run([&](int i) {
    for (int round = 1; round <= rounds; ++round) {
      data[i].fill(round);
      if (round % 2 == 0) {
        meeting.arrive_and_wait();
      } else {
        last += pthread_barrier_wait(&of_posix) == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
      }
      data[(i + 1) % threads].check(round);
      meeting.arrive_and_wait();
    }
  });
  CHECK(last == rounds / 2 && pthread_barrier_destroy(&of_posix) == 0);
}

void check_semaphores() {
  std::counting_semaphore<16> full(0), empty(1);
  sem_t ready;
  CHECK(sem_init(&ready, 0, 0) == 0);
  Data data;
  std::thread taker([&] {
    for (int round = 1; round <= rounds; ++round) {
      full.acquire();
      data.check(round);
      data.fill(-round);
      CHECK(sem_post(&ready) == 0);
      empty.release();
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    empty.acquire();
    data.fill(round);
    full.release();
    CHECK(sem_wait(&ready) == 0);
    data.check(-round);
  }
  taker.join();
}

void check_atomics() {
  std::atomic<int> stage{0};
  std::latch all(threads);
  Data data;
  run([&](int i) {
    for (int round = 0; round < rounds; ++round) {
      const int mine = round * threads + i;
      for (int now = stage.load(); now != mine; now = stage.load()) stage.wait(now);
      data.check(mine);
      data.fill(mine + 1);
      stage.store(mine + 1);
      stage.notify_all();
    }
    all.arrive_and_wait();
    data.check(threads * rounds);
  });
}

// Nothing but loads and stores: two threads take turns. Not on a stack (docs/guide/limits.md).
Data data_of_turns;
std::atomic<int> turn{0};

void check_plain_words() {
  Data& data = data_of_turns;
  const auto play = [&](int mine) {
    for (int round = mine; round < rounds; round += 2) {
      while (turn.load(std::memory_order_acquire) != round) std::this_thread::yield();
      data.check(round);
      data.fill(round + 1);
      turn.store(round + 1, std::memory_order_release);
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  data.check(rounds);
}

std::once_flag once;
pthread_once_t once_of_posix = PTHREAD_ONCE_INIT;
Data first_data, posix_data;

const Data& local_data() {
  static const Data data = [] {
    Data made;
    made.fill(3);
    return made;
  }();
  return data;
}

void check_once() {
  run([&](int) {
    std::call_once(once, [] { first_data.fill(first_data.word[0] + 1); });
    CHECK(pthread_once(&once_of_posix, [] { posix_data.fill(posix_data.word[0] + 2); }) == 0);
    first_data.check(1);
    posix_data.check(2);
    local_data().check(3);
  });
}

void check_futures() {
  for (int round = 0; round < rounds; ++round) {
    std::promise<std::string> promise;
    std::future<std::string> text = promise.get_future();
    auto length = std::async(std::launch::async, [&] { return text.get().size(); });
    auto thrown = std::async(
        std::launch::async, [](int value) { return value == 0 ? 0 : throw value; }, round + 1);
    promise.set_value(std::string(100 + round, 'x'));
    CHECK(length.get() == 100u + round);
    try {
      thrown.get();
      CHECK(false);
    } catch (const int value) {
      CHECK(value == round + 1);
    }
    std::packaged_task<int(int)> task([](int value) { return value + 1; });
    auto result = task.get_future();
    std::jthread(std::move(task), round).detach();
    CHECK(result.get() == round + 1);
  }
}

void check_stops() {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::atomic<int> stopped{0};
  {
    std::vector<std::jthread> team;
    for (int i = 0; i < threads; ++i) {
      team.emplace_back([&](std::stop_token stop) {
        std::atomic<bool> called{false};
        std::unique_lock held(mutex);
        CHECK(!changed.wait(held, stop, [] { return false; }));
        stopped += 1;
        held.unlock();
        const std::stop_callback late(stop, [&] { called = true; });
        CHECK(called);
      });
    }
  }
  CHECK(stopped == threads);
}

}  // namespace

int main() {
  check_mutexes();
  check_conditions();
  check_meetings();
  check_semaphores();
  check_atomics();
  check_plain_words();
  check_once();
  check_futures();
  check_stops();
  printf("waits: passed\n");
  return 0;
}
