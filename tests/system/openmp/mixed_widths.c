// Chars and ints of many threads in the same words, without a race: mixed in one region, in alternate
// regions, stored by the region's own code, by functions that it calls, directly or by an address, by the C
// library and by tasks. In addition, regions in which ints race. No char is ever lost.
#include "check.h"

enum { count = 4096, rounds = 6 };

// Words of chars, each char of another thread.
static unsigned char cells[count];
static int ints[count];
static unsigned char flag_before, flags[8];

static int owner(int i) {
  return i % omp_get_num_threads();
}
static unsigned char value(int round, int i) {
  return (unsigned char)(round * 31 + i + 1);
}

__attribute__((noinline)) static void put(unsigned char* to, unsigned char what) {
  *to = what;
}
static void (*volatile put_by_address)(unsigned char*, unsigned char) = put;

static void check(const unsigned char* chars, int round) {
  for (int i = 0; i < count; ++i) CHECK(chars[i] == value(round, i));
}

// All threads store the same ints in another order: they race, without a visible effect.
#define RACE_FOR_INTS(round) \
  for (int k = 0; k < count; ++k) ints[(k * 7 + 3 * omp_get_thread_num()) % count] = (round) + k % 3

enum way { direct, called, by_address, by_memcpy, by_memset };

static void store(enum way way, unsigned char* chars, int i, unsigned char what) {
  const char text[2] = {(char)what, 0};
  switch (way) {
    case direct:
      chars[i] = what;
      break;
    case called:
      put(chars + i, what);
      break;
    case by_address:
      put_by_address(chars + i, what);
      break;
    case by_memcpy:
      memcpy(chars + i, text, (size_t)1 + (size_t)(omp_get_num_threads() > 1000));
      break;
    case by_memset:
      memset(chars + i, what, (size_t)1 + (size_t)(omp_get_num_threads() > 1000));
      break;
  }
}

static void mix_in_one_region(unsigned char* chars) {
  for (int round = 1; round <= rounds; ++round) {
    const enum way way = round % (by_memset + 1);
#pragma omp parallel
    {
      RACE_FOR_INTS(round);
      for (int i = 0; i < count; ++i) {
        if (owner(i) == omp_get_thread_num()) store(way, chars, i, value(round, i));
      }
    }
    check(chars, round);
  }
}

// One region stores nothing narrower than ints, the next chars, to the same words; the thread that stored a
// char before a region of ints is not the only one of its word.
static void take_turns(unsigned char* chars) {
  for (int round = 1; round <= rounds; ++round) {
#pragma omp parallel
    for (int k = 0; k < count / 4; ++k) ((int*)chars)[(k * 5 + omp_get_thread_num()) % (count / 4)] = round;
#pragma omp parallel
    for (int i = 0; i < count; ++i) {
      if (owner(i) == omp_get_thread_num()) chars[i] = value(round, i);
    }
#pragma omp parallel
    RACE_FOR_INTS(round);
    check(chars, round);
    // The initial thread alone, just before a region.
    for (int i = 0; i < count; i += 2) chars[i] = value(round + 1, i);
#pragma omp parallel
    RACE_FOR_INTS(round);
    for (int i = 0; i < count; ++i) CHECK(chars[i] == value(round + (i % 2 == 0), i));
  }
}

static void store_by_tasks(unsigned char* chars) {
  for (int round = 1; round <= rounds; ++round) {
#pragma omp parallel
    {
      for (int i = omp_get_thread_num(); i < count; i += 4 * omp_get_num_threads()) {
#pragma omp task firstprivate(i)
        for (int k = 0; k < 4 && i + k * omp_get_num_threads() < count; ++k)
          chars[i + k * omp_get_num_threads()] = value(round, i + k * omp_get_num_threads());
      }
      RACE_FOR_INTS(round);
    }
    check(chars, round);
  }
}

// Adjacent short strings, written by the C library.
static void write_strings(char (*strings)[3]) {
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel
    {
      RACE_FOR_INTS(round);
#pragma omp for schedule(static, 1)
      for (int i = 0; i < count; ++i) {
        if (round % 2 == 0)
          snprintf(strings[i], sizeof strings[i], "%u", (unsigned)(i + round) % 90);
        else
          strcpy(strings[i], (i + round) % 2 == 0 ? "4" : "71");
      }
    }
    for (int i = 0; i < count; ++i) {
      const int wanted = round % 2 == 0 ? (i + round) % 90 : (i + round) % 2 == 0 ? 4 : 71;
      CHECK(atoi(strings[i]) == wanted);
    }
  }
}

// Single chars in static memory, whose addresses the code names, in one word; ints race around them.
static void set_flags(void) {
  for (int round = 1; round <= rounds; ++round) {
#pragma omp parallel
    {
      RACE_FOR_INTS(round);
      switch (omp_get_thread_num()) {
        case 0:
          flag_before = (unsigned char)round;
          break;
        case 1:
          flags[1] = (unsigned char)round;
          break;
        case 2:
          flags[2] = (unsigned char)round;
          break;
        default:
          flags[3] = (unsigned char)(round + omp_get_num_threads());
      }
    }
    const int threads = omp_get_max_threads();
    CHECK(flag_before == round && (threads < 2 || flags[1] == round) && (threads < 3 || flags[2] == round));
    CHECK(threads < 4 || flags[3] == (unsigned char)(round + threads));
  }
}

int main(void) {
  unsigned char* const chars = aligned_alloc(64, count);
  char(*const strings)[3] = malloc(count * sizeof *strings);
  memset(chars, 0, count);
  mix_in_one_region(cells);
  mix_in_one_region(chars);
  take_turns(cells);
  take_turns(chars);
  store_by_tasks(cells);
  store_by_tasks(chars);
  write_strings(strings);
  set_flags();
  free(chars);
  free(strings);
  puts("no char was lost");
  return 0;
}
