// Waits of C++20 between threads: atomics that notify, latches, barriers with a completion, semaphores, and a
// spin lock by atomic_flag. Usage: handovers [threads] [rounds].
#include <atomic>
#include <barrier>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>

#include "thread_team.h"

namespace {

int threads, rounds;

template <typename Work>
void in_threads(Work work) {
  std::vector<std::jthread> members;
  for (int i = 0; i < threads; ++i) members.emplace_back(work, i);
}

void pass_by_atomic() {
  std::atomic<int> turn = 0;
  std::vector<int> order;  // written by who has the turn
  in_threads([&](int me) {
    for (int i = 0; i < rounds; ++i) {
      const int wanted = i * threads + me;
      for (int now = turn.load(); now != wanted; now = turn.load()) turn.wait(now);
      order.push_back(me);
      turn.store(wanted + 1);
      turn.notify_all();
    }
  });
  CHECK(order.size() == static_cast<std::size_t>(threads * rounds));
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == static_cast<int>(i) % threads);
}

void meet_at_barriers() {
  std::vector<long> numbers(static_cast<std::size_t>(threads), 1);
  long sum = 0, expected = threads;
  std::barrier barrier(threads, [&]() noexcept {
    sum = 0;
    for (const long number : numbers) sum += number;
  });
  std::latch all_ended(threads);
  in_threads([&](int me) {
    for (int i = 0; i < rounds % 20; ++i) {
      barrier.arrive_and_wait();
      numbers[static_cast<std::size_t>(me)] = sum % 1000003;
      barrier.arrive_and_wait();
    }
    all_ended.count_down();
    all_ended.wait();
  });
  for (int i = 0; i < rounds % 20; ++i) expected = expected % 1000003 * threads;
  CHECK(rounds % 20 == 0 || sum == expected);
}

void count_by_semaphore() {
  std::counting_semaphore<3> places(3);
  std::binary_semaphore guard(1);
  std::atomic<int> inside = 0;
  int count = 0;
  in_threads([&](int) {
    for (int i = 0; i < rounds; ++i) {
      places.acquire();
      CHECK(++inside <= 3);
      guard.acquire();
      ++count;
      guard.release();
      --inside;
      places.release();
    }
  });
  CHECK(count == threads * rounds);
}

void count_by_spinning() {
  std::atomic_flag taken;
  int count = 0;
  in_threads([&](int) {
    for (int i = 0; i < rounds; ++i) {
      while (taken.test_and_set(std::memory_order_acquire)) taken.wait(true);
      ++count;
      taken.clear(std::memory_order_release);
      taken.notify_one();
    }
  });
  CHECK(count == threads * rounds);
}

}  // namespace

int main(int argc, char** argv) {
  threads = number_of(argc, argv, 1, 4, team_max);
  rounds = number_of(argc, argv, 2, 25, 1 << 20);
  const double start = seconds();
  pass_by_atomic();
  meet_at_barriers();
  count_by_semaphore();
  count_by_spinning();
  printf("handovers: %d rounds, %d threads, time %.6f s\n", rounds, threads, seconds() - start);
  return 0;
}
