/* Part of musubi.h: atomic operations on words of shared memory. */
#ifndef MUSUBI_ATOMICS_H
#define MUSUBI_ATOMICS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Atomic operations on aligned words of shared memory. Each acts on the newest value in the job, and
 * operations on one word happen in one order for all ranks; other memory is not ordered by them (musubi_flush
 * does that). `old` gets the value before the operation and may be null. compare_swap stores `desired` if the
 * word is `expected`; it has, when *old == expected. They block for the rank that has the word, not for a
 * partner, and cost microseconds. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS, MUSUBI_ERROR_ALIGNMENT.
 */
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
