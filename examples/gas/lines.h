/* Lines of 64 bytes in global pages, reached in three ways that the programs of this folder compare:
 *
 *   static  each line stays where it was placed; every access goes there
 *   cached  the same, but a line that was read is cached until the next phase, as implementations of UPC do;
 *           writes go through
 *   owned   gas_own brings the pages that a phase works on to the rank that works on them
 *
 * In a phase one rank works on a range of lines, and no other rank accesses it. Barriers separate phases.
 */
#ifndef LINES_H
#define LINES_H

#include <musubi/gas.h>
#include <stdint.h>

enum way { WAY_STATIC, WAY_CACHED, WAY_OWNED, WAYS };
extern const char* const way_names[WAYS];

struct line {
  uint64_t words[8];
};

struct lines;
/* Ends the job when no memory is left. */
struct lines* lines_make(enum way way, size_t page_bytes);
void lines_free(struct lines* lines);

/* Begins a phase on `count` lines from `first` on, which were placed at rank `placed_at`. */
void lines_begin(struct lines* lines, gas_address first, size_t count, int placed_at);
/* Line `index` of that range. */
struct line lines_read(struct lines* lines, size_t index);
void lines_write(struct lines* lines, size_t index, const struct line* line);

/* Operations at other ranks since lines_make; gas_own counts one for each page that moved. */
uint64_t lines_remote(const struct lines* lines);

/* Ends the job unless the call of gas.h that returned `result` succeeded. */
void lines_require(int result);
/* The next number of a sequence. */
uint64_t lines_random(uint64_t* state);
double lines_seconds(void);

#endif
