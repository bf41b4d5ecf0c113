#include "subject.h"

#include <stdatomic.h>
#include <string.h>

#define SUBJECT __attribute__((section("atomics_subject"), noinline))

struct subject_globals subject_globals __attribute__((aligned(4096)));

SUBJECT void subject_increment(long* word, long times) {
  for (long i = 0; i < times; ++i) {
    if (i % 2 == 0)
      __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
    else
      atomic_fetch_add((_Atomic long*)word, 1);
  }
}

SUBJECT long subject_ticket(long* word, long times) {
  long seen = 0;
  for (long i = 0; i < times; ++i) seen += __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL);
  return seen;
}

SUBJECT void subject_reduce(double* sum, double amount, long times) {
  for (long i = 0; i < times; ++i) {
    long old_bits = __atomic_load_n((long*)sum, __ATOMIC_RELAXED);
    long new_bits;
    do {
      double value;
      memcpy(&value, &old_bits, sizeof value);
      value += amount;
      memcpy(&new_bits, &value, sizeof value);
    } while (
        !__atomic_compare_exchange_n((long*)sum, &old_bits, new_bits, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }
}

SUBJECT void subject_multiply(long* word, long factor) {
  long old = atomic_load((_Atomic long*)word);
  while (!atomic_compare_exchange_weak((_Atomic long*)word, &old, old * factor)) {
  }
}

SUBJECT long subject_swap(long* word, long value) {
  return atomic_exchange((_Atomic long*)word, value);
}

SUBJECT int subject_test_and_set_bit(unsigned* word, unsigned bit) {
  return (__atomic_fetch_or(word, 1u << (bit & 31), __ATOMIC_SEQ_CST) >> (bit & 31)) & 1;
}

SUBJECT int subject_legacy(int* word) {
  int result = __sync_fetch_and_add(word, 5);
  result += __sync_sub_and_fetch(word, 2);
  result += __sync_bool_compare_and_swap(word, 8, 100);
  result += __sync_val_compare_and_swap(word, 100, 90);
  result += __sync_fetch_and_xor(word, 0xff);
  result += __sync_lock_test_and_set(word, 7);
  __sync_synchronize();
  __sync_fetch_and_and(word, 6);
  return result;
}

SUBJECT int subject_narrow(unsigned char* byte, unsigned short* half) {
  __atomic_fetch_add(byte, 200, __ATOMIC_RELAXED);
  const int old = __atomic_fetch_sub(half, 3, __ATOMIC_RELAXED);
  return old + __atomic_exchange_n(byte, 9, __ATOMIC_ACQUIRE);
}

SUBJECT int subject_spin_lock(int* lock, long* guarded, long times) {
  int waits = 0;
  for (long i = 0; i < times; ++i) {
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) != 0) ++waits;
    ++*guarded;
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
  }
  return waits;
}

SUBJECT void subject_count_globals(long times) {
  for (long i = 0; i < times; ++i) {
    __atomic_fetch_add(&subject_globals.counter, 3, __ATOMIC_RELAXED);
    __atomic_fetch_or(&subject_globals.flags, 1 << (i % 30), __ATOMIC_RELAXED);
    __atomic_fetch_add(&subject_globals.halves[1], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&subject_globals.bytes[3], 1, __ATOMIC_RELAXED);
  }
}

SUBJECT void subject_fences(void) {
  atomic_thread_fence(memory_order_seq_cst);
  *(volatile int*)&subject_globals.flags; /* keeps the compiler from making one fence of two */
  __sync_synchronize();
  __asm__ volatile("mfence" ::: "memory");
  __asm__ volatile("lock; orl $0, -64(%%rsp)" ::: "memory", "cc");
}

SUBJECT long subject_leaf(long* word, long a, long b) {
  volatile long locals[12];
  for (int i = 0; i < 12; ++i) locals[i] = a * i + b;
  long sum = __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 12; ++i) sum += locals[i];
  return sum;
}

SUBJECT double subject_vectors(long* word, const double* values) {
  double a = values[0] * 2, b = values[1] * 3, c = values[2] * 4, d = values[3] * 5;
  __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
  return a + b * 10 + c * 100 + d * 1000;
}
