/* Part of musubi.h: atomic operations on words of shared memory.
 *
 *     uint64_t begin = 0;
 *     for (;;) {
 *       musubi_atomic_fetch_add_64(next, 100, &begin);
 *       if (begin >= count) break;
 *       for (uint64_t i = begin; i < begin + 100 && i < count; ++i) work(i);
 *     }
 */
#ifndef MUSUBI_ATOMICS_H
#define MUSUBI_ATOMICS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Atomic operations on aligned words of shared memory. Each acts on the newest value in the job, and all
 * ranks see the operations on one word in one order. They do not order other memory; musubi_flush does.
 * `value` and `old` receive the value before the operation; `old` may be null. compare_swap stores
 * `desired` if the word equals `expected`; it has stored if *old == expected. They may wait for a reply
 * from the home of the word, never for a call of another rank, and cost microseconds over a network.
 * Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS, MUSUBI_ERROR_ALIGNMENT. */
int musubi_atomic_load_32(const uint32_t* word, uint32_t* value);
int musubi_atomic_load_64(const uint64_t* word, uint64_t* value);
int musubi_atomic_store_32(uint32_t* word, uint32_t value);
int musubi_atomic_store_64(uint64_t* word, uint64_t value);
int musubi_atomic_fetch_add_32(uint32_t* word, uint32_t amount, uint32_t* old);
int musubi_atomic_fetch_add_64(uint64_t* word, uint64_t amount, uint64_t* old);
int musubi_atomic_compare_swap_32(uint32_t* word, uint32_t expected, uint32_t desired, uint32_t* old);
int musubi_atomic_compare_swap_64(uint64_t* word, uint64_t expected, uint64_t desired, uint64_t* old);

#ifdef __cplusplus
}
#endif

#endif
