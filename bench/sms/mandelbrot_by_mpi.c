/* The Mandelbrot set over messages, as in paper SMS. static: each process draws an equal part, process 0
 * gathers them. pool: process 0 hands out tiles and draws none, so one more process is started than draws;
 * a process that returns a tile asks for the next.
 *   mpirun -n 4 mandelbrot_by_mpi [static | pool [points per side]]
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "timing.h"

static int self, processes, side;

static int points_of(struct area area) {
  return (area.bottom - area.top) * (area.right - area.left);
}

/* Between a picture and the points of an area, stored row by row. */
static void put_area(int* picture, const int* points, struct area area) {
  const int width = area.right - area.left;
  for (int row = area.top; row < area.bottom; row++, points += width)
    memcpy(picture + (long)row * side + area.left, points, (size_t)width * sizeof *points);
}

static void hand_out(int* picture) {
  int* points = malloc((size_t)side * (size_t)side * sizeof *points);
  int next = 0, drawing = 0;
  for (int p = 1; p < processes; p++) {
    const int tile = next < tiles ? next++ : tiles;
    MPI_Send(&tile, 1, MPI_INT, p, 0, MPI_COMM_WORLD);
    if (tile < tiles) ++drawing;
  }
  while (drawing > 0) { /* the tag is the tile */
    MPI_Status status;
    MPI_Recv(points, side * side, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    const int tile = next < tiles ? next++ : tiles;
    MPI_Send(&tile, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
    put_area(picture, points, area_of_tile(status.MPI_TAG, side));
    if (tile == tiles) --drawing;
  }
  free(points);
}

static void draw_what_comes(void) {
  int* points = malloc((size_t)side * (size_t)side * sizeof *points);
  for (;;) {
    int tile = tiles;
    MPI_Recv(&tile, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (tile == tiles) break;
    const struct area area = area_of_tile(tile, side);
    int* at = points;
    for (int row = area.top; row < area.bottom; row++)
      for (int column = area.left; column < area.right; column++) *at++ = turns_at(row, column, side);
    MPI_Send(points, points_of(area), MPI_INT, 0, tile, MPI_COMM_WORLD);
  }
  free(points);
}

static void draw_parts(int* picture) {
  int* firsts = malloc(((size_t)processes + 1) * sizeof *firsts);
  int* points = malloc((size_t)processes * sizeof *points);
  for (int p = 0; p <= processes; p++) {
    firsts[p] = (int)((long)side * p / processes) * side;
    if (p > 0) points[p - 1] = firsts[p] - firsts[p - 1];
  }
  draw(picture, side, (struct area){firsts[self] / side, firsts[self + 1] / side, 0, side});
  const void* own = self == 0 ? MPI_IN_PLACE : (const void*)(picture + firsts[self]);
  MPI_Gatherv(own, points[self], MPI_INT, picture, points, firsts, MPI_INT, 0, MPI_COMM_WORLD);
  free(firsts);
  free(points);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const int is_pool = argc > 1 && strcmp(argv[1], "pool") == 0;
  side = argc > 2 ? atoi(argv[2]) : 512;
  int* picture = calloc((size_t)side * (size_t)side, sizeof *picture);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now();
  if (!is_pool) {
    draw_parts(picture);
  } else if (self == 0) {
    hand_out(picture);
  } else {
    draw_what_comes();
  }
  const double seconds = now() - start;
  if (self == 0 && is_drawn(picture, side)) print_time(seconds);
  free(picture);
  MPI_Finalize();
  return 0;
}
