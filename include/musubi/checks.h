/* Part of musubi.h: accesses that the program announces. No fault stops it then, and blocks come side by
 * side, where faults bring one after the other:
 *
 *     musubi_range rows[64];                                       // rows of other ranks
 *     for (int i = 0; i < 64; ++i) rows[i] = (musubi_range){matrix + index[i] * n, n * sizeof(double)};
 *     musubi_prefetch_all(rows, 64, 0);                            // the time of a few rows, not of 64
 *
 *     musubi_check_overwrite(result, bytes);                       // no old bytes are fetched
 *     for (size_t i = 0; i < count; ++i) result[i] = f(i);
 *     musubi_check_written(result, bytes);
 *
 * An access without a check costs a fault and nothing else. On one host, where all ranks map one memory, a
 * check does nothing.
 *
 * The musubi_check_ functions may name any memory: a range ends before its first address that is not
 * shared, and where no job runs they do nothing. They do not fail. Any attached thread may call them. */
#ifndef MUSUBI_CHECKS_H
#define MUSUBI_CHECKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A range of memory, which may be empty. */
typedef struct musubi_range {
  const void* memory;
  size_t bytes;
} musubi_range;

/* As musubi_prefetch, for `count` ranges at `ranges` at once, in any order: as many runs of blocks as the
 * setting release_window are under way. Blocks until all bytes are here. Errors: MUSUBI_ERROR_STATE,
 * MUSUBI_ERROR_ADDRESS (not all of it is shared; then nothing is prefetched). */
int musubi_prefetch_all(const musubi_range* ranges, size_t count, int writable);

/* This rank is about to read [memory, memory + bytes). Blocks until the bytes are here. */
void musubi_check_read(const volatile void* memory, size_t bytes);

/* This rank is about to write there, and perhaps to read. Blocks until the bytes are here. */
void musubi_check_write(volatile void* memory, size_t bytes);

/* This rank is about to write every byte of the range. No thread of the job reads any before that; the
 * bytes are undefined until they are written. Blocks of the protocol that lie wholly inside come without
 * their bytes; the others come as for musubi_check_write. Blocks. */
void musubi_check_overwrite(volatile void* memory, size_t bytes);

/* A hint: this rank has written the range, and will not write to it before it synchronises next. With
 * MUSUBI_POLICY_HOME the changes go to the home at once. Blocks until they are there. */
void musubi_check_written(const volatile void* memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
