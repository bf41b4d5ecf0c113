/* Part of musubi.h: small values that all ranks agree on.
 *
 * All of it is collective, and blocks. A rank that is in another collective call, or in the same one with
 * another size, type, operation or root, is found, as a rule: the job ends with a line that names both ranks
 * and their calls. */
#ifndef MUSUBI_COLLECTIVES_H
#define MUSUBI_COLLECTIVES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes rank 0's *pointer that of every rank, with a barrier in it. Collective, blocks.
 * Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (`pointer` is null). */
int musubi_broadcast(void** pointer);

/* Makes the `bytes` bytes at `values` of rank `root` those of every rank. As all that follows it takes about
 * log2(ranks) messages of each rank where the values are small, and orders nothing in shared memory: use
 * musubi_broadcast to hand on a pointer. `values` may be private or shared; shared memory that ranks write
 * here at once is a race. Errors, which come before anything is sent and so have to be the same at all
 * ranks: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (null), MUSUBI_ERROR_ARGUMENT (no such rank, more than
 * 1 GiB). */
int musubi_broadcast_values(void* values, size_t bytes, int root);

enum { MUSUBI_INT32, MUSUBI_UINT32, MUSUBI_INT64, MUSUBI_UINT64, MUSUBI_FLOAT, MUSUBI_DOUBLE };
enum { MUSUBI_SUM, MUSUBI_PROD, MUSUBI_MIN, MUSUBI_MAX, MUSUBI_AND, MUSUBI_OR, MUSUBI_XOR };

/* values[i] = values[i] of rank 0 (operation) values[i] of rank 1 (operation) ..., from left to right, for
 * `count` values: the same bits in each run, and on every rank. musubi_allreduce gives the result to all,
 * musubi_reduce to `root`; elsewhere `values` stay as they were. Integers wrap round; AND, OR and XOR are for
 * integers. Made for small arrays: each rank gets the values of all ranks. Errors: as
 * musubi_broadcast_values, and MUSUBI_ERROR_ARGUMENT (no such type, no such operation for it). */
int musubi_reduce(void* values, size_t count, int type, int operation, int root);
int musubi_allreduce(void* values, size_t count, int type, int operation);

#ifdef __cplusplus
}
#endif

#endif
