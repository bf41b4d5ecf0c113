// Code generated at run time, which was never patched: its atomics on shared memory are served when they
// fault. (Words that are also written by plain stores are not promised: a page that is open for them does not
// fault.)
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

#include "check.h"

enum { times = 2000, words = 8, apart = 1 << 20 };

typedef long Add(long* word, long amount);

static Add* make_code(void) {
  static const uint8_t code[] = {
      0x48, 0x89, 0xf0,              // mov %rsi, %rax
      0xf0, 0x48, 0x0f, 0xc1, 0x07,  // lock xadd %rax, (%rdi)
      0xc3,                          // ret
  };
  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  memcpy(page, code, sizeof code);
  return (Add*)page;
}

int main(void) {
  long* counters[words];
  for (int i = 0; i < words; ++i) counters[i] = calloc(1, apart);
  long tickets = 0;
  const int threads = omp_get_max_threads();
#pragma omp parallel reduction(+ : tickets)
  {
    Add* const add = make_code();
    for (int i = 0; i < times; ++i) {
      tickets += add(counters[0] + 100, 1);
      add(counters[i % words] + 200, i);
    }
  }
  const long last = (long)times * threads;
  CHECK(counters[0][100] == last);
  CHECK(tickets == last * (last - 1) / 2);
  long sum = 0;
  for (int i = 0; i < words; ++i) sum += counters[i][200];
  CHECK(sum == (long)threads * times * (times - 1) / 2);
  return 0;
}
