// Threads of the program that open parallel regions of their own at the same time, and meet by a mutex and a
// condition in between. Usage: teams_of_threads [threads] [rounds].
#include <omp.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "thread_team.h"

namespace {

constexpr int length = 500;

std::mutex guard;
std::condition_variable changed;
int threads, arrived, round_number;
long total;

void meet() {
  std::unique_lock hold(guard);
  const int now = round_number;
  if (++arrived == threads) {
    arrived = 0;
    ++round_number;
    changed.notify_all();
  } else {
    changed.wait(hold, [now] { return round_number != now; });
  }
}

void work(int me, int rounds) {
  std::vector<long> numbers(length);
  for (int round = 1; round <= rounds; ++round) {
    long sum = 0;
    int members = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum, members)
    {
      ++members;
#pragma omp for schedule(dynamic, 7)
      for (int i = 0; i < length; ++i) {
        numbers[static_cast<std::size_t>(i)] += me + i;
        sum += numbers[static_cast<std::size_t>(i)];
      }
      const std::lock_guard hold(guard);
      ++total;
    }
    CHECK(members >= 1 && members <= 3);
    CHECK(sum == round * (static_cast<long>(length) * me + static_cast<long>(length) * (length - 1) / 2));
    {
      const std::lock_guard hold(guard);
      total -= members;
    }
    meet();
    CHECK(total == 0);
    meet();
  }
}

}  // namespace

int main(int argc, char** argv) {
  threads = number_of(argc, argv, 1, 3, team_max);
  const int rounds = number_of(argc, argv, 2, 10, 1 << 20);
  omp_set_dynamic(0);
  const double start = seconds();
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, i, rounds);
  work(0, rounds);
  for (std::thread& other : others) other.join();
  printf("teams_of_threads: %d rounds, %d threads, time %.6f s\n", rounds, threads, seconds() - start);
  return 0;
}
