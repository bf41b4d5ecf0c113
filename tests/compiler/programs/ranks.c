/* Ranks work on one matrix, whose rows go from rank to rank: rows, columns and single elements. */
#include <musubi/musubi.h>
#include <stdio.h>
#include <string.h>

enum { size = 192, turns = 6 };

void add_to_row(double* row, double value); /* unchecked.c */

static int turn_of(double* a, double* b, int turn) {
  const int self = musubi_rank(), ranks = musubi_size();
  for (int i = self; i < size; i += ranks) {
    for (int j = 0; j < size; ++j) b[i * size + j] = a[j * size + i] + turn;
  }
  musubi_barrier();
  for (int i = (self + turn) % ranks; i < size; i += ranks) {
    memcpy(a + i * size, b + i * size, size * sizeof *a);
    a[i * size + turn] *= 2;
  }
  musubi_barrier();
  for (int i = (self + turn) % ranks; i < size; i += ranks) add_to_row(a + i * size, 1);
  musubi_barrier();
  int wrong = 0;
  for (int k = 0; k < size; ++k) wrong += a[k * size + (k * 7) % size] < turn;
  musubi_barrier();
  return wrong;
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  musubi_attributes attributes = {0};
  attributes.placement = MUSUBI_PLACE_BLOCK;
  void *a = NULL, *b = NULL;
  if (musubi_alloc_with(&attributes, size * size * sizeof(double), &a) != MUSUBI_OK) return 1;
  if (musubi_alloc_with(&attributes, size * size * sizeof(double), &b) != MUSUBI_OK) return 1;
  if (musubi_rank() == 0) memset(a, 0, size * size * sizeof(double));
  musubi_barrier();
  int wrong = 0;
  for (int turn = 0; turn < turns; ++turn) wrong += turn_of(a, b, turn);
  double sum = 0;
  for (int i = 0; i < size * size; ++i) sum += ((double*)a)[i];
  musubi_barrier();
  if (musubi_rank() == 0) printf("%d wrong, sum %.0f\n", wrong, sum);
  return musubi_finalize(wrong != 0);
}
