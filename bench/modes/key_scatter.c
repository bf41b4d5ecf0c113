// Radix sort of 32-bit keys by ranks, a digit of 8 bits in each pass (after Woo et al., "The SPLASH-2
// Programs"): each key is stored where it belongs, all over the other array. Each turn has new keys.
// Usage: key_scatter [keys] [turns] [home_only].

#include "radix.h"
#include "spmd.h"

static int64_t keys;
static uint32_t *from, *to;
static int64_t (*counts)[DIGITS];  // of each rank

static uint32_t key(int64_t i, int64_t turn) {
  return (uint32_t)mixed((uint64_t)(i + turn * keys));
}

static void sort(struct part mine) {
  for (int pass = 0; pass < PASSES; pass++) {
    const int shift = pass * BITS;
    int64_t places[DIGITS];
    count_digits(from, mine, shift, counts[musubi_rank()]);
    musubi_barrier();
    first_places(counts, musubi_rank(), musubi_size(), places);
    scatter(from, to, mine, shift, places);
    musubi_barrier();
    for (int64_t i = mine.first; i < mine.end; i++) from[i] = to[i];
  }
  musubi_barrier();
}

static int64_t wrong_after(struct part mine, int64_t turn, uint64_t* difference) {
  int64_t wrong = 0;
  for (int64_t i = mine.first; i < mine.end; i++) {
    wrong += i > 0 && from[i - 1] > from[i];
    *difference += mixed(from[i]) - mixed(key(i, turn));
  }
  return wrong;
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  keys = argument(argc, argv, 1, 1 << 18);
  const int64_t turns = argument(argc, argv, 2, 2);
  from = allocate_parts(keys, sizeof *from, 0, 0);
  const int home_only = is_home_only(argc, argv, 3);
  to = allocate_parts(keys, sizeof *to, home_only ? 4096 : 0, home_only);
  counts = allocate_parts(musubi_size(), sizeof *counts, 0, 0);
  const struct part mine = own_part(keys);
  double seconds = 0;
  int64_t wrong = 0;
  uint64_t difference = 0;
  for (int64_t turn = 0; turn < turns; turn++) {
    for (int64_t i = mine.first; i < mine.end; i++) from[i] = key(i, turn);
    musubi_barrier();
    const double start = seconds_now();
    sort(mine);
    seconds += seconds_now() - start;
    wrong += wrong_after(mine, turn, &difference);
    musubi_barrier();
  }
  musubi_allreduce(&wrong, 1, MUSUBI_INT64, MUSUBI_SUM);
  musubi_allreduce(&difference, 1, MUSUBI_UINT64, MUSUBI_SUM);
  const int right = wrong == 0 && difference == 0;
  const int status = musubi_rank() == 0 ? finish(right, seconds) : !right;
  musubi_barrier();
  return musubi_finalize(status);
}
