#include "lines.h"

#include <musubi/musubi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char* const way_names[WAYS] = {"static", "cached", "owned"};

enum { cached_lines = 4096 };

struct lines {
  enum way way;
  size_t page_bytes;
  gas_address first;
  int is_remote;
  uint64_t remote;
  size_t kept_index[cached_lines]; /* plus 1; 0: none */
  struct line kept[cached_lines];
};

void lines_require(int result) {
  if (result < 0) musubi_abort(1, gas_error_text(gas_error()));
}

struct lines* lines_make(enum way way, size_t page_bytes) {
  struct lines* const lines = calloc(1, sizeof *lines);
  if (lines == NULL) musubi_abort(1, "no memory for the kept lines");
  lines->way = way;
  lines->page_bytes = page_bytes;
  return lines;
}

void lines_free(struct lines* lines) {
  free(lines);
}

static uint64_t pages_elsewhere(const struct lines* lines, gas_address first, size_t bytes) {
  uint64_t pages = 0;
  for (size_t at = 0; at < bytes; at += lines->page_bytes) {
    const int owner = gas_where(first + at);
    lines_require(owner);
    if (owner != musubi_rank()) ++pages;
  }
  return pages;
}

void lines_begin(struct lines* lines, gas_address first, size_t count, int placed_at) {
  memset(lines->kept_index, 0, sizeof lines->kept_index);
  lines->first = first;
  lines->is_remote = lines->way != WAY_OWNED && placed_at != musubi_rank();
  if (lines->way != WAY_OWNED) return;
  lines->remote += pages_elsewhere(lines, first, count * sizeof(struct line));
  lines_require(gas_own(first, count * sizeof(struct line)));
}

struct line lines_read(struct lines* lines, size_t index) {
  const size_t slot = index % cached_lines;
  if (lines->way == WAY_CACHED && lines->kept_index[slot] == index + 1) return lines->kept[slot];
  struct line line;
  lines_require(gas_get(lines->first + index * sizeof line, &line, sizeof line));
  lines->remote += (uint64_t)lines->is_remote;
  if (lines->way == WAY_CACHED) {
    lines->kept_index[slot] = index + 1;
    lines->kept[slot] = line;
  }
  return line;
}

void lines_write(struct lines* lines, size_t index, const struct line* line) {
  const size_t slot = index % cached_lines;
  if (lines->way == WAY_CACHED && lines->kept_index[slot] == index + 1) lines->kept[slot] = *line;
  lines_require(gas_put(lines->first + index * sizeof *line, line, sizeof *line));
  lines->remote += (uint64_t)lines->is_remote;
}

uint64_t lines_remote(const struct lines* lines) {
  return lines->remote;
}

uint64_t lines_random(uint64_t* state) {
  *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 (Steele, Lea and Flood) */
  uint64_t x = *state;
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

double lines_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
