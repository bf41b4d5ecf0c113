/* Atomic operations whose source orders nothing, by threads of several ranks. `claims`: each thread takes
 * numbers, claims words, exchanges and sums. `hand_over`: fences order them, and data follow a flag. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { threads = 4, words = 512, turns = 1500 };

static atomic_int claimed[words], taken, exchanged;
static _Atomic double sum;
static int claims[threads];
static long numbers[threads];

static void* claim(void* argument) {
  const int self = (int)(long)argument;
  for (int turn = 0; turn < turns; ++turn) {
    int free = 0;
    if (atomic_compare_exchange_strong_explicit(&claimed[(turn * 7 + self) % words], &free, self + 1,
                                                memory_order_relaxed, memory_order_relaxed))
      claims[self]++;
    numbers[self] += atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
    if (atomic_exchange_explicit(&exchanged, self, memory_order_relaxed) < 0) claims[self] = -turns;
    double old = atomic_load_explicit(&sum, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&sum, &old, old + 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
  }
  return NULL;
}

static atomic_int flag;
static long data[threads];

/* The threads take their turns by a flag; each adds to what the thread before has written. */
static void* hand_over(void* argument) {
  const int self = (int)(long)argument;
  for (int turn = 0; turn < 40; ++turn) {
    int expected = turn * threads + self;
    while (atomic_fetch_add_explicit(&flag, 0, memory_order_relaxed) != expected) {
    }
    atomic_thread_fence(memory_order_acquire);
    data[self] = data[(self + threads - 1) % threads] + 1;
    atomic_thread_fence(memory_order_release);
    atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
  }
  return NULL;
}

static void run(void* (*function)(void*)) {
  pthread_t thread[threads];
  for (long i = 0; i < threads; ++i) pthread_create(&thread[i], NULL, function, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(thread[i], NULL);
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "hand_over") == 0) {
    run(hand_over);
    printf("%ld hand-overs\n", data[threads - 1]);
    return 0;
  }
  run(claim);
  long all = 0, total = 0;
  for (int i = 0; i < threads; ++i) all += claims[i], total += numbers[i];
  const long count = (long)threads * turns;
  printf("%ld claims, numbers %s, sum %.0f\n", all, total == count * (count - 1) / 2 ? "right" : "wrong",
         sum);
  return 0;
}
