// Two ranks store to one word without synchronisation: it gets one of the values, never a mixture. And
// neighbours smaller than a word, which threads of different ranks own: nothing is lost.
#include <stdbool.h>
#include <stdint.h>

#include "check.h"

enum { count = 3001, rounds = 12 };

static int static_ints[count];
static double static_doubles[count];
static int single;

// A value per thread: each sets another byte.
static uint64_t value_of(int thread, unsigned bytes) {
  return (uint64_t)1 << 8 * (unsigned)(thread % (int)bytes);
}

static bool is_whole(uint64_t value, int bytes) {
  bool found = value == 0;
  for (int i = 0; i < bytes; ++i) found |= value == (uint64_t)1 << 8 * i;
  return found;
}

// Not a constant, since compilers turn that into memset, which writes bytes, and then every region that calls
// it may write bytes.
static volatile int nothing;

#define CHECK_WORDS(words)                                 \
  _Pragma("omp barrier") for (int i = 0; i < count; ++i) { \
    CHECK(is_whole((uint64_t)words[i], sizeof words[i]));  \
  }                                                        \
  const int none = nothing;                                \
  _Pragma("omp barrier") _Pragma("omp for") for (int i = 0; i < count; ++i) words[i] = none

// All words in a scattered order, then some of them.
#define DEFINE_RACE(name, word)                                                      \
  static void name(word* words) {                                                    \
    _Pragma("omp parallel") for (int round = 0; round < rounds; ++round) {           \
      const word mine = (word)value_of(omp_get_thread_num(), sizeof(word));          \
      for (int i = 0; i < count; ++i) words[i * 7 % count] = mine;                   \
      CHECK_WORDS(words);                                                            \
    }                                                                                \
    _Pragma("omp parallel") for (int round = 0; round < rounds; ++round) {           \
      const word mine = (word)value_of(omp_get_thread_num(), sizeof(word));          \
      for (int i = omp_get_thread_num(); i < count; i += 1 + i % 7) words[i] = mine; \
      CHECK_WORDS(words);                                                            \
    }                                                                                \
  }

DEFINE_RACE(race_for_ints, int)
DEFINE_RACE(race_for_longs, uint64_t)

// Doubles and pointers whose halves differ.
static void race_for_doubles(double* words) {
  static const double values[] = {1.0, 3.3333333333333335, 1e-300, 12345678.000000001};
#pragma omp parallel
  for (int round = 0; round < rounds; ++round) {
    const double mine = values[omp_get_thread_num() % 4];
    for (int i = 0; i < count; ++i) words[i * 7 % count] = mine;
#pragma omp barrier
    for (int i = 0; i < count; ++i) {
      CHECK(words[i] == values[0] || words[i] == values[1] || words[i] == values[2] ||
            words[i] == values[3] || words[i] == 0);
    }
#pragma omp barrier
    const double none = nothing;
#pragma omp for
    for (int i = 0; i < count; ++i) words[i] = none;
  }
}

static void race_for_one(int* word) {
#pragma omp parallel
  for (int round = 0; round < 4 * rounds; ++round) {
    *word = (int)value_of(omp_get_thread_num(), 4);
#pragma omp barrier
    CHECK(is_whole((uint64_t)*word, 4) && *word != 0);
#pragma omp barrier
#pragma omp single
    *word = 0;
  }
}

// ---- neighbours ----

#define DEFINE_NEIGHBOURS(name, cell)                                                             \
  static void name(cell* cells) {                                                                 \
    for (int round = 1; round <= rounds; ++round) {                                               \
      _Pragma("omp parallel for schedule(static)") for (int i = 0; i < count; ++i) cells[i] =     \
          (cell)(round + i);                                                                      \
      for (int i = 0; i < count; ++i) CHECK(cells[i] == (cell)(round + i));                       \
      _Pragma("omp parallel for schedule(static, 1)") for (int i = 0; i < count; ++i) cells[i] =  \
          (cell)(round + 2 * i);                                                                  \
      for (int i = 0; i < count; ++i) CHECK(cells[i] == (cell)(round + 2 * i));                   \
      _Pragma("omp parallel for schedule(dynamic, 5)") for (int i = 0; i < count; ++i) cells[i] = \
          (cell)(round + 3 * i);                                                                  \
      for (int i = 0; i < count; ++i) CHECK(cells[i] == (cell)(round + 3 * i));                   \
    }                                                                                             \
  }

DEFINE_NEIGHBOURS(chars, unsigned char)
DEFINE_NEIGHBOURS(shorts, unsigned short)
DEFINE_NEIGHBOURS(ints, int)
DEFINE_NEIGHBOURS(longs, long)

// Flags that any thread sets, as those of visited vertices.
static void visit(bool* visited) {
  for (int round = 0; round < rounds; ++round) {
    memset(visited, 0, count);
#pragma omp parallel
    for (int i = omp_get_thread_num(); i < count; i += omp_get_num_threads()) visited[i * 7 % count] = true;
    for (int i = 0; i < count; ++i) CHECK(visited[i]);
  }
}

// Adjacent strings that the C library writes.
static void write_names(char (*names)[10]) {
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < count; ++i) sprintf(names[i], "%d", (i + round) * 31);
    for (int i = 0; i < count; ++i) CHECK(atoi(names[i]) == (i + round) * 31);
  }
}

struct pixel {
  unsigned char red, green, blue;
};
static void paint(struct pixel* pixels) {
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel for
    for (int i = 0; i < count; ++i) pixels[i] = (struct pixel){(unsigned char)i, (unsigned char)round, 7};
    for (int i = 0; i < count; ++i) {
      CHECK(pixels[i].red == (unsigned char)i && pixels[i].green == round && pixels[i].blue == 7);
    }
  }
}

int main(int argc, char** argv) {
  const bool words = argc < 2 || strcmp(argv[1], "words") == 0;
  const bool neighbours = argc < 2 || strcmp(argv[1], "neighbours") == 0;
  const bool stack = argc < 2 || strcmp(argv[1], "stack") == 0;
  static unsigned char static_chars[count];
  int on_stack = 0;
  void* memory[8];
  for (int i = 0; i < 8; ++i) memory[i] = calloc(count, 16);
  double* const doubles = calloc(1 << 17, sizeof *doubles);
  if (words) {
    race_for_one(&single);
    race_for_ints(static_ints);
    race_for_ints(memory[0]);
    race_for_longs(memory[1]);
    race_for_doubles(static_doubles);
    race_for_doubles(doubles);
  }
  if (stack) race_for_one(&on_stack);
  if (neighbours) {
    chars(static_chars);
    chars(memory[3]);
    shorts(memory[4]);
    ints(memory[0]);
    longs(memory[1]);
    visit(memory[5]);
    write_names(memory[6]);
    paint(memory[7]);
  }
  for (int i = 0; i < 8; ++i) free(memory[i]);
  free(doubles);
  puts("no word was torn, no neighbour lost");
  return 0;
}
