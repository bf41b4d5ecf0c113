// Threads wait for words that other threads store to, by loads alone: `omp atomic read`, the atomics of C,
// volatile. Compilers make plain moves of these, so neither the wait nor the write is announced. The flags
// are in static data, on the heap and on a stack; the loop is empty, sleeps or yields. A thread that sees the
// flag must see the data. With the argument `pthread` a thread of the program's own waits, and a region
// writes.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

enum { rounds = 6, threads_max = 16, apart = 16, row_longs = 3000, places = 3, ways = 4 };
enum inside { nothing, sleeps, yields, insides };

static _Alignas(64) int static_flags[threads_max * apart];
static long rows[threads_max][row_longs];
static _Atomic int ring;
static long beside_ring[row_longs];

static int look(int* flag, int way) {
  int seen = 0;
  switch (way) {
    case 0:
#pragma omp atomic read
      seen = *flag;
      return seen;
    case 1:
      return atomic_load((_Atomic int*)flag);
    case 2:
      return atomic_load_explicit((_Atomic int*)flag, memory_order_acquire);
    default:
      return *(volatile int*)flag;
  }
}

static void set(int* flag, int value, int way) {
  switch (way) {
    case 0:
#pragma omp atomic write
      *flag = value;
      return;
    case 1:
    case 2:
      atomic_store_explicit((_Atomic int*)flag, value, memory_order_release);
      return;
    default:
      *(volatile int*)flag = value;
  }
}

static void await(int* flag, int value, int way, enum inside inside) {
  while (look(flag, way) < value) {
    if (inside == sleeps) usleep(50);
    if (inside == yields) sched_yield();
  }
}

// Every thread writes its row, announces it, and waits for all other threads.
static void meet_by_flags(int* flags, int in_order, int first, int way, enum inside inside) {
#pragma omp parallel
  {
    const int self = omp_get_thread_num();
    for (int round = first; round < first + rounds; ++round) {
      for (int i = 0; i < row_longs; ++i) rows[self][i] = round;
      set(&flags[self * apart], round, way);
      for (int other = 0; other < omp_get_num_threads(); ++other) {
        await(&flags[other * apart], round, way, inside);
        for (int i = 0; i < row_longs; i += 100) CHECK(!in_order || rows[other][i] >= round);
      }
    }
  }
}

// All ways with the same flags: the rows continue their count.
static int meet_at(int* flags, int in_order, int first) {
  for (int way = 0; way < ways; ++way) {
    for (int inside = nothing; inside < insides; ++inside) {
      meet_by_flags(flags, in_order, first, way, inside);
      first += rounds;
    }
  }
  return first;
}

static void* wait_for_ring(void* unused) {
  (void)unused;
  for (int round = 1; round <= rounds; ++round) {
    while (atomic_load_explicit(&ring, memory_order_acquire) < round) {
    }
    for (int i = 0; i < row_longs; i += 100) CHECK(beside_ring[i] >= round);
  }
  return NULL;
}

static void ring_for_a_thread(void) {
  pthread_t waiter;
  CHECK(pthread_create(&waiter, NULL, wait_for_ring, NULL) == 0);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    for (int round = 1; round <= rounds; ++round) {
      for (int i = 0; i < row_longs; ++i) beside_ring[i] = round;
      atomic_store_explicit(&ring, round, memory_order_release);
      usleep(2000);
    }
    // The region ends only when the thread has seen all rows.
    while (atomic_load(&ring) < rounds) {
    }
  }
  CHECK(pthread_join(waiter, NULL) == 0);
}

int main(int count, char** arguments) {
  int stack_flags[threads_max * apart] = {0};
  int* const heap_flags = calloc(threads_max * apart, sizeof(int));
  if (count > 1 && strcmp(arguments[1], "pthread") == 0) {
    ring_for_a_thread();
  } else {
    int* const flags[places] = {static_flags, heap_flags, stack_flags};
    int first = 1;
    // For flags on a stack it is not promised beyond two ranks (docs/decisions/background.md).
    const int few = omp_get_max_threads() == 2;
    for (int place = 0; place < places; ++place) {
      first = meet_at(flags[place], few || flags[place] != stack_flags, first);
    }
  }
  free(heap_flags);
  puts("every wait has ended");
  return 0;
}
