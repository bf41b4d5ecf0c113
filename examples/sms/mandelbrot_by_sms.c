/* The Mandelbrot set over shared memory, as in paper SMS. static: each process draws an equal part, and
 * meets the other processes once, at the end. pool: the picture is cut into 64 tiles, and a counter under
 * a lock names the next one; a process that finishes early takes more. musubi run -n 4 mandelbrot_by_sms
 * [static | pool [points per side]]
 */
#include <sms.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "timing.h"

enum { counter_lock = 0 };

static int take_tile(int* next_tile) {
  sms_lock(counter_lock);
  const int tile = *next_tile < tiles ? (*next_tile)++ : tiles;
  sms_unlock(counter_lock);
  return tile;
}

static struct area part_of(int process, int side) {
  const long rows = side;
  return (struct area){(int)(rows * process / sms_nproc), (int)(rows * (process + 1) / sms_nproc), 0, side};
}

int main(int argc, char** argv) {
  sms_startup(argc, argv);
  const int is_pool = argc > 1 && strcmp(argv[1], "pool") == 0;
  const int side = argc > 2 ? atoi(argv[2]) : 512;
  if ((argc > 1 && !is_pool && strcmp(argv[1], "static") != 0) || side < tiles_per_side)
    sms_error("usage: mandelbrot_by_sms [static | pool [points per side]]");
  int* picture = sms_calloc(side * side, sizeof *picture, 0);
  int* next_tile = sms_calloc(1, sizeof *next_tile, 0);
  /* The process that draws a part owns its pages. */
  for (int process = 0; !is_pool && process < sms_nproc; process++) {
    const struct area part = part_of(process, side);
    if (part.top < part.bottom)
      sms_change_page_manager(picture + (long)part.top * side,
                              (part.bottom - part.top) * side * (int)sizeof *picture, process);
  }
  sms_barrier(0);

  const double start = now();
  if (is_pool) {
    for (int tile = take_tile(next_tile); tile < tiles; tile = take_tile(next_tile))
      draw(picture, side, area_of_tile(tile, side));
  } else {
    draw(picture, side, part_of(sms_proc_id, side));
  }
  sms_barrier(0);
  const double drawn = now();
  /* Process 0 needs the result, as in the version over messages. */
  long sum = 0;
  if (sms_proc_id == 0)
    for (long at = 0; at < (long)side * side; at += 1024) sum += picture[at];
  const double seconds = now() - start;
  if (sms_proc_id == 0) {
    if (!is_drawn(picture, side) || sum < 0) sms_error("the picture is not that of one process");
    print_time(seconds);
    printf("drawn %.6f s\n", drawn - start);
  }
  sms_barrier(0);
  sms_shutdown();
  return 0;
}
