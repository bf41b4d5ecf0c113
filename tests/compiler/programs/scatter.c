/* Memory that checks alone protect, in a program of several files: ranks sort keys by their digits, and the
 * words of a block go to several ranks. */
#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>

#include "scatter.h"

static void* allocate(size_t bytes, int policy) {
  musubi_attributes attributes = {0};
  attributes.placement = MUSUBI_PLACE_BLOCK;
  attributes.policy = policy;
  attributes.checks = MUSUBI_CHECKED_BY_CODE;
  void* memory = NULL;
  if (musubi_alloc_with(&attributes, bytes, &memory) == MUSUBI_OK) return memory;
  musubi_barrier();
  exit(musubi_finalize(3));
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  const long keys = argc > 1 ? atol(argv[1]) : 20000;
  struct sorting sorting = {keys, musubi_rank(), musubi_size(), NULL, NULL, NULL};
  sorting.from = allocate((size_t)keys * sizeof *sorting.from, MUSUBI_POLICY_HOME);
  sorting.to = allocate((size_t)keys * sizeof *sorting.to, MUSUBI_POLICY_HOME_ONLY);
  sorting.counts = allocate((size_t)sorting.ranks * sizeof *sorting.counts, MUSUBI_POLICY_HOME);
  fill(&sorting);
  for (int digit = 0; digit < DIGITS; ++digit) {
    count(&sorting, digit);
    musubi_barrier();
    scatter(&sorting, digit);
    musubi_barrier();
    take_over(&sorting);
    musubi_barrier();
  }
  const long wrong = check(&sorting, ascending);
  if (sorting.rank == 0) fprintf(stdout, "%ld keys, %ld wrong\n", keys, wrong);
  musubi_barrier();
  return musubi_finalize(wrong != 0);
}
