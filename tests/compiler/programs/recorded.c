/* Each rank writes its blocks, then reads those of the next rank; all add to one word under a lock, and write
 * a word each of one block. */
#include <musubi/musubi.h>
#include <stdio.h>

enum { block = 32768, blocks = 3, words = blocks * block / sizeof(long) };

static void fill(long* mine, long value) {
  for (int i = 0; i < words; ++i) mine[i] = (value + i) * 0x100000001;
}

static long sum(const long* theirs) {
  long sum = 0;
  for (int i = 0; i < words; ++i) sum += theirs[i];
  return sum;
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  const int self = musubi_rank(), ranks = musubi_size();
  musubi_attributes attributes = {0};
  attributes.placement = MUSUBI_PLACE_BLOCK;
  attributes.block_bytes = block;
  void *all = NULL, *one = NULL;
  if (musubi_alloc_with(&attributes, (size_t)ranks * blocks * block, &all) != MUSUBI_OK) return 1;
  if (musubi_alloc_with(&attributes, block, &one) != MUSUBI_OK) return 1;
  long* const array = all;
  long* const shared = one;
  musubi_barrier();
  fill(array + (long)self * words, self + 1);
  musubi_barrier();
  const long found = sum(array + (long)((self + 1) % ranks) * words);
  musubi_barrier();
  musubi_lock(5);
  shared[0] += found;
  musubi_unlock(5);
  musubi_barrier();
  shared[1 + self] = found;
  musubi_barrier();
  return musubi_finalize(shared[1 + self] != found);
}
