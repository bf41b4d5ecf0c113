// omp_pause_resource ends OpenMP's threads: their threadprivate variables begin again, their thread-local
// objects are destroyed, and what the destructors store is seen.
#include <pthread.h>
#include <time.h>

#include "check.h"

namespace {

enum { rounds = 12, initial = 128 };

int value = initial;
#pragma omp threadprivate(value)

long made, destroyed, last_of[256];

struct Counted {
  int number = -1;
  Counted() {
#pragma omp atomic
    ++made;
  }
  ~Counted() {
    if (number >= 0) last_of[number] = value;
#pragma omp atomic
    ++destroyed;
  }
};
thread_local Counted counted;

long read(const long& counter) {
  long now;
#pragma omp atomic read
  now = counter;
  return now;
}

// Natively a pause does not wait for the threads.
void await_destroyed(long count) {
  for (int tries = 0; read(destroyed) != count && tries < 10000; ++tries) {
    const timespec moment = {0, 1000000};
    nanosleep(&moment, nullptr);
  }
  CHECK(read(destroyed) == count);
}

// Each thread but main's has `before`, and leaves a value of its own.
int check_values(int before, int round) {
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  {
    const int number = omp_get_thread_num();
    if (number != 0) CHECK(value == before);
    value = 1000 * round + number;
    counted.number = number;
    threads = 1;
  }
#pragma omp parallel
  CHECK(value == 1000 * round + omp_get_thread_num());
  return threads;
}

void check_ends() {
  long expected = 0;
  for (int round = 1; round <= rounds; ++round) {
    const int others = check_values(initial, round) - 1;
    if (round % 2 == 0) {
      CHECK(omp_pause_resource(omp_pause_soft, omp_get_initial_device()) == 0);
    } else {
      CHECK(omp_pause_resource_all(omp_pause_hard) == 0);
    }
    CHECK(value == 1000 * round);
    expected += others;
    await_destroyed(expected);
    for (int number = 1; number <= others; ++number) CHECK(last_of[number] == 1000 * round + number);
  }
  CHECK(read(made) == expected + 1);
}

// Two pauses in a row, and one before any region, end no thread that is needed.
void check_repeated() {
  for (int i = 0; i < 3; ++i) CHECK(omp_pause_resource_all(omp_pause_soft) == 0);
}

void check_refused() {
  int refused = 0, threads = 0;
#pragma omp parallel reduction(+ : refused, threads)
  {
    threads = 1;
    refused = omp_pause_resource_all(omp_pause_soft) != 0;
  }
  CHECK(refused == threads);
}

// A thread of the program that has had a team of its own.
void* pause_alone(void*) {
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  sum += omp_get_thread_num() + 1;
  CHECK(sum == 1 || sum == 3);
  CHECK(omp_pause_resource_all(omp_pause_hard) == 0);
  return nullptr;
}

void check_own_threads() {
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, pause_alone, nullptr) == 0);
#pragma omp parallel
  value = 5;
  CHECK(pthread_join(thread, nullptr) == 0);
#pragma omp parallel
  CHECK(value == 5);
}

}  // namespace

int main() {
  check_repeated();
  check_refused();
  CHECK(omp_pause_resource_all(omp_pause_soft) == 0);
  check_ends();
  check_repeated();
  check_own_threads();
  printf("pauses: ok\n");
  return 0;
}
