// Memory that ranks write and do not read before another rank does, over musubi.h: the target of a scatter,
// and of a transpose. Usage: homes (sort|transpose) [keys, or rows] [turns] [policy]. With `home_only` the
// arrays have MUSUBI_POLICY_HOME_ONLY and MUSUBI_CHECKED_BY_CODE, for which the program must be of mode udsm.
// `sort` moves keys by one digit of a radix sort in each turn; `transpose` overwrites rows with columns. The
// time is that of the turns after the first.

#include <musubi/musubi.h>
#include <chrono>
#include <cstdint>
#include <cstdio>

enum { BITS = 8, DIGITS = 1 << BITS, KEY_BITS = 32 };

static int rank, ranks, home_only;

// Of C++, for it takes no pointer: a function of the C library that does is code without checks.
static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static uint64_t* shared(int64_t words) {
  musubi_attributes attributes{};
  attributes.placement = MUSUBI_PLACE_BLOCK;
  if (home_only) {
    attributes.policy = MUSUBI_POLICY_HOME_ONLY;
    attributes.checks = MUSUBI_CHECKED_BY_CODE;
    attributes.block_bytes = 4096;
  }
  void* memory = nullptr;
  const int error = musubi_alloc_with(&attributes, (size_t)words * sizeof(uint64_t), &memory);
  if (error != MUSUBI_OK) musubi_abort(1, musubi_error_text(error));
  return (uint64_t*)memory;
}

// No function of the C library reads the arguments: it would be code without checks.
static int64_t number(const char* text) {
  int64_t value = 0;
  for (; *text >= '0' && *text <= '9' && value < 1 << 26; text++) value = 10 * value + (*text - '0');
  return value;
}

static int64_t begin_of(int64_t count, int part) {
  return count * part / ranks;
}

// Never the same twice in a sequence: an odd factor permutes the numbers modulo 2^32.
static uint64_t key_of(int64_t i) {
  return (uint64_t)(uint32_t)((uint64_t)i * UINT64_C(2654435761));
}

static void count(const uint64_t* from, int64_t first, int64_t end, int shift, uint64_t* counts) {
  for (int digit = 0; digit < DIGITS; digit++) counts[digit] = 0;
  for (int64_t i = first; i < end; i++) counts[from[i] >> shift & (DIGITS - 1)]++;
}

static void find_places(const uint64_t* counts, int64_t* places) {
  int64_t before = 0;
  for (int digit = 0; digit < DIGITS; digit++) {
    for (int other = 0; other < ranks; other++) {
      if (other == rank) places[digit] = before;
      before += (int64_t)counts[other * DIGITS + digit];
    }
  }
}

static void scatter(const uint64_t* from, uint64_t* to, int64_t first, int64_t end, int shift,
                    int64_t* places) {
  for (int64_t i = first; i < end; i++) to[places[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_turn(const uint64_t* from, uint64_t* to, int64_t keys, int turn, uint64_t* counts) {
  const int shift = turn * BITS % KEY_BITS;
  const int64_t first = begin_of(keys, rank), end = begin_of(keys, rank + 1);
  int64_t places[DIGITS];
  count(from, first, end, shift, counts + rank * DIGITS);
  musubi_barrier();
  find_places(counts, places);
  scatter(from, to, first, end, shift, places);
}

static void transpose_turn(const uint64_t* from, uint64_t* to, int64_t rows) {
  for (int64_t row = begin_of(rows, rank); row < begin_of(rows, rank + 1); row++) {
    for (int64_t column = 0; column < rows; column++) to[row * rows + column] = from[column * rows + row];
  }
}

// Wrong elements of this rank: a whole number of sorts leaves the keys in order, an even number of transposes
// all as it was.
static int64_t count_wrong(const uint64_t* values, int64_t elements, int sorted) {
  int64_t wrong = 0;
  for (int64_t i = begin_of(elements, rank); i < begin_of(elements, rank + 1); i++)
    wrong += sorted ? i > 0 && values[i - 1] > values[i] : values[i] != key_of(i);
  return wrong;
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 2;
  const int sorts = argc > 1 && argv[1][0] == 's';
  const int64_t size = argc > 2 ? number(argv[2]) : 1024;
  const int turns = argc > 3 ? (int)number(argv[3]) : 8;
  if (argc < 2 || size < 4 || size > 1 << 26 || turns < 4 || turns % 4 != 0)
    musubi_abort(2, "usage: homes (sort|transpose) [size] [turns, a multiple of 4] [pages|home_only]");
  home_only = argc > 4 && argv[4][0] == 'h';
  rank = musubi_rank();
  ranks = musubi_size();
  const int64_t elements = sorts ? size : size * size;
  uint64_t* from = shared(elements);
  uint64_t* to = shared(elements);
  uint64_t* const counts = shared(ranks * DIGITS);
  for (int64_t i = begin_of(elements, rank); i < begin_of(elements, rank + 1); i++) from[i] = key_of(i);
  musubi_barrier();
  double start = 0;
  for (int turn = 0; turn < turns; turn++) {
    if (turn == 1) start = now();
    if (sorts)
      sort_turn(from, to, size, turn, counts);
    else
      transpose_turn(from, to, size);
    musubi_barrier();
    uint64_t* const other = from;
    from = to;
    to = other;
  }
  const double seconds = now() - start;
  int64_t wrong = count_wrong(from, elements, sorts);
  if (musubi_allreduce(&wrong, 1, MUSUBI_INT64, MUSUBI_SUM) != MUSUBI_OK) return 2;
  if (wrong != 0) musubi_abort(1, "VERIFICATION FAILED");
  if (rank == 0) {
    printf("VERIFICATION SUCCESSFUL\n");
    printf("time %.6f s\n", seconds);
  }
  return musubi_finalize(0);
}
