// Memory that one thread allocates and another thread frees, grows or fills.
#include <malloc.h>

#include "check.h"

enum { pieces = 4000, small_pieces = 200000 };

static char* table[pieces];
static unsigned* small[small_pieces];

static size_t size_of(int piece) {
  return 1 + (size_t)piece * 7919 % 5000 + (piece % 500 == 0 ? 300000 : 0);
}

static int neighbour(int piece) {
  return (piece + pieces / 2 + 17) % pieces;
}

static void check_content(const char* bytes, size_t count, int value) {
  for (size_t i = 0; i < count; i += 61) CHECK(bytes[i] == (char)value);
}

static void allocate_here_free_there(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < pieces; ++i) {
    table[i] = i % 3 == 0 ? calloc(size_of(i), 1) : malloc(size_of(i));
    CHECK(table[i] != NULL);
    if (i % 3 == 0) check_content(table[i], size_of(i), 0);
    memset(table[i], i, size_of(i));
  }
#pragma omp parallel for schedule(static)
  for (int i = 0; i < pieces; ++i) {
    const int other = neighbour(i);
    check_content(table[other], size_of(other), other);
    table[other] = realloc(table[other], 2 * size_of(other));
    CHECK(table[other] != NULL && malloc_usable_size(table[other]) >= 2 * size_of(other));
    check_content(table[other], size_of(other), other);
    memset(table[other], ~other, 2 * size_of(other));
  }
#pragma omp parallel for schedule(dynamic, 16)
  for (int i = 0; i < pieces; ++i) {
    check_content(table[i], 2 * size_of(i), ~i);
    free(table[i]);
  }
}

static void many_small_ones(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < small_pieces; ++i) {
    small[i] = malloc(sizeof(unsigned) * (1 + (unsigned)i % 6));
    *small[i] = (unsigned)i;
  }
#pragma omp parallel for schedule(static)
  for (int i = 0; i < small_pieces; ++i) {
    const int other = small_pieces - 1 - i;
    CHECK(*small[other] == (unsigned)other);
    free(small[other]);
  }
}

static void aligned_ones(void) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < 64; ++i) {
    const size_t alignment = (size_t)16 << (i % 10);
    void* memory = NULL;
    CHECK(posix_memalign(&memory, alignment, 100 + (size_t)i) == 0);
    CHECK((size_t)memory % alignment == 0);
    memset(memory, i, 100 + (size_t)i);
    free(memory);
    memory = aligned_alloc(alignment, alignment * 3);
    CHECK(memory != NULL && (size_t)memory % alignment == 0);
    free(memory);
  }
}

int main(void) {
  for (int round = 0; round < 2; ++round) {
    allocate_here_free_there();
    aligned_ones();
  }
  many_small_ones();
  return 0;
}
