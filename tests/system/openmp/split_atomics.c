// Atomic operations of the processor on words that lie in two blocks, and on their neighbours.
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { rounds = 40, borders = 3, distance = 65536 };

static char memory[(borders + 2) * distance] __attribute__((aligned(65536)));

static uint64_t* word_at(int border, int before) {
  return (uint64_t*)(memory + (border + 1) * distance - before);
}

static void add(uint64_t* word, uint64_t amount) {
  __asm__ volatile("lock addq %1, %0" : "+m"(*word) : "r"(amount) : "cc");
}
static uint64_t fetch_add(uint64_t* word, uint64_t amount) {
  __asm__ volatile("lock xaddq %1, %0" : "+m"(*word), "+r"(amount) : : "cc");
  return amount;
}
static int compare_swap(uint64_t* word, uint64_t* expected, uint64_t desired) {
  char same;
  __asm__ volatile("lock cmpxchgq %3, %0; sete %2"
                   : "+m"(*word), "+a"(*expected), "=q"(same)
                   : "r"(desired)
                   : "cc", "memory");
  return same;
}
static uint64_t exchange(uint64_t* word, uint64_t value) {
  __asm__ volatile("xchgq %1, %0" : "+m"(*word), "+r"(value));
  return value;
}

int main(void) {
  const int threads = omp_get_max_threads();
  uint64_t given = 0, taken = 0;
#pragma omp parallel reduction(+ : given, taken)
  for (int round = 0; round < rounds; ++round) {
    const int border = round % borders;
    add(word_at(border, 3), 0x100000001);  // carries into the second block
    if (fetch_add(word_at(border, 5 + distance / 4), 1) > 1u << 20) abort();
    for (uint64_t seen = 0; !compare_swap(word_at(border, 1), &seen, seen);) {
    }
    const uint64_t own = (uint64_t)omp_get_thread_num() + 1;
    given += own;
    taken += exchange(word_at(border, 4 + distance / 2), own << 8 * border) >> 8 * border;
    memory[(border + 1) * distance + 100 + omp_get_thread_num()]++;
  }
  uint64_t sum = 0, counted = 0;
  for (int border = 0; border < borders; ++border) {
    uint64_t value;
    memcpy(&value, word_at(border, 3), sizeof value);
    sum += value;
    memcpy(&value, word_at(border, 5 + distance / 4), sizeof value);
    counted += value;
    memcpy(&value, word_at(border, 4 + distance / 2), sizeof value);
    taken += value >> 8 * border;
    for (int i = 0; i < threads; ++i)
      CHECK(memory[(border + 1) * distance + 100 + i] == rounds / borders + (border < rounds % borders));
  }
  CHECK(sum == (uint64_t)rounds * (uint64_t)threads * 0x100000001);
  CHECK(counted == (uint64_t)rounds * (uint64_t)threads && taken == given);
  return 0;
}
