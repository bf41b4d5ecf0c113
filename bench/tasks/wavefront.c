// The longest common subsequence of two texts, by tiles of the table: a task per tile, which depends on the
// tiles above and to the left of it. Only the last row and column of each tile are kept.
// Usage: wavefront [letters] [letters of a tile].

#include "../apps/nas.h"

static int tile;

static char* make_text(int letters, uint64_t seed) {
  char* text = nas_allocate((size_t)letters, 1);
  for (int i = 0; i < letters; ++i) text[i] = "acgt"[(int)(4 * nas_random(&seed))];
  return text;
}

// `above` and `left` hold the lengths along these edges and receive those of the opposite ones; `corner` is
// the length at the upper left corner.
static void fill(const char* down, const char* across, int corner, int* above, int* left) {
  for (int i = 0; i < tile; ++i) {
    int diagonal = corner, before = left[i];
    corner = before;
    for (int j = 0; j < tile; ++j) {
      const int longest = above[j] > before ? above[j] : before;
      const int here = down[i] == across[j] ? diagonal + 1 : longest;
      diagonal = above[j];
      above[j] = before = here;
    }
    left[i] = before;
  }
}

static int length_alone(const char* down, const char* across, int letters) {
  int* row = nas_allocate((size_t)letters + 1, sizeof *row);
  for (int i = 0; i < letters; ++i) {
    int diagonal = 0;
    for (int j = 1; j <= letters; ++j) {
      const int above = row[j], longest = above > row[j - 1] ? above : row[j - 1];
      row[j] = down[i] == across[j - 1] ? diagonal + 1 : longest;
      diagonal = above;
    }
  }
  const int length = row[letters];
  free(row);
  return length;
}

// The edges of the tile in row i and column j: rows[j], columns[i]; corners[(i, j)] is set by the tile
// itself.
static void make_tasks(const char* down, const char* across, int tiles, int* rows, int* columns,
                       int* corners) {
  for (int i = 0; i < tiles; ++i) {
    for (int j = 0; j < tiles; ++j) {
      int *above = rows + (size_t)j * tile, *left = columns + (size_t)i * tile;
      const int* corner = corners + (size_t)i * (tiles + 1) + j;
      int* next_corner = corners + (size_t)(i + 1) * (tiles + 1) + j + 1;
#pragma omp task depend(in : corner[0]) depend(out : next_corner[0]) depend(inout : above[0], left[0]) \
    firstprivate(i, j, above, left, corner, next_corner)
      {
        fill(down + (size_t)i * tile, across + (size_t)j * tile, *corner, above, left);
        *next_corner = left[tile - 1];
      }
    }
  }
}

int main(int argc, char** argv) {
  const int letters = argc > 1 ? atoi(argv[1]) : 16384;
  tile = argc > 2 ? atoi(argv[2]) : 512;
  if (tile < 1 || letters < tile || letters % tile != 0) {
    fprintf(stderr, "usage: wavefront [letters, whole tiles] [letters of a tile]\n");
    return 2;
  }
  const int tiles = letters / tile;
  const char *down = make_text(letters, NAS_SEED), *across = make_text(letters, NAS_SEED + 1);
  int *rows = nas_allocate((size_t)letters, sizeof *rows),
      *columns = nas_allocate((size_t)letters, sizeof *rows);
  int* corners = nas_allocate((size_t)(tiles + 1) * (tiles + 1), sizeof *corners);
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  make_tasks(down, across, tiles, rows, columns, corners);
  const double seconds = omp_get_wtime() - start;
  const int length = rows[letters - 1];
  printf("common subsequence of %d of %d letters, %d threads\n", length, letters, omp_get_max_threads());
  return nas_finish(length == length_alone(down, across, letters), seconds, (double)letters * letters);
}
