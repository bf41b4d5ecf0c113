/* Part of musubi.h: small values that all ranks agree on.
 *
 * All functions are collective and block. When a rank is in another collective call, or in the same one
 * with another size, type, operation or root, this is usually detected: the job then ends with a line that
 * names both ranks and their calls.
 *
 *     double sums[2] = {own_error, own_energy};
 *     musubi_allreduce(sums, 2, MUSUBI_DOUBLE, MUSUBI_SUM);
 *     int steps = musubi_rank() == 0 ? read_steps() : 0;
 *     musubi_broadcast_values(&steps, sizeof steps, 0);
 */
#ifndef MUSUBI_COLLECTIVES_H
#define MUSUBI_COLLECTIVES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies *pointer of rank 0 to every rank and is a barrier: all ranks see the object that it points to.
 * Collective, blocks. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (`pointer` is null). */
int musubi_broadcast(void** pointer);

/* Copies the `bytes` bytes at `values` of rank `root` to every rank. Like the functions below, it costs
 * about log2(ranks) messages per rank for small values and orders nothing in shared memory: pass pointers
 * on by musubi_broadcast. `values` may be private or shared; ranks that pass the same shared memory race.
 * Collective, blocks. Errors, found before anything is sent, so all ranks must make the same ones:
 * MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (null), MUSUBI_ERROR_ARGUMENT (no such rank, or more than 1
 * GiB). */
int musubi_broadcast_values(void* values, size_t bytes, int root);

enum { MUSUBI_INT32, MUSUBI_UINT32, MUSUBI_INT64, MUSUBI_UINT64, MUSUBI_FLOAT, MUSUBI_DOUBLE };
enum { MUSUBI_SUM, MUSUBI_PROD, MUSUBI_MIN, MUSUBI_MAX, MUSUBI_AND, MUSUBI_OR, MUSUBI_XOR };

/* Reduce `count` values over all ranks: values[i] = values[i] of rank 0 (operation) values[i] of rank 1
 * (operation) ..., from left to right, so every run and every rank gets the same bits. musubi_allreduce
 * stores the result on all ranks, musubi_reduce on `root` only; `values` of the other ranks stay unchanged.
 * Integers wrap around; AND, OR and XOR are for integers. Meant for small arrays: each rank receives the
 * values of all ranks. Collective, block. Errors: as musubi_broadcast_values, and MUSUBI_ERROR_ARGUMENT (no
 * such type, or no such operation for it). */
int musubi_reduce(void* values, size_t count, int type, int operation, int root);
int musubi_allreduce(void* values, size_t count, int type, int operation);

#ifdef __cplusplus
}
#endif

#endif
