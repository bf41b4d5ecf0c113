/* Part of musubi.h: shared memory. */
#ifndef MUSUBI_MEMORY_H
#define MUSUBI_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Shared memory for `bytes` bytes, aligned to 16 bytes (from 128 KiB on to a block of the protocol), with
 * undefined contents; null when this rank's part of the heap (setting heap_bytes) is used up. Other ranks use
 * the address as it is: pass it on in shared memory, or by musubi_broadcast. Does not block for other ranks.
 */
void* musubi_alloc(size_t bytes);

/* The same, aligned to `alignment`, a power of two up to 1 GiB; null also for another alignment. */
void* musubi_alloc_aligned(size_t alignment, size_t bytes);

/* The same of the heap of rank `rank`, where its blocks begin their life; null also for no such rank. That
 * rank's main thread need not call anything; blocks until another thread there has answered. */
void* musubi_alloc_at(int rank, size_t bytes);

/* Gives memory of these three back. Any rank may; nobody uses the memory afterwards. Null: does nothing.
 * Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS. */
int musubi_free(void* memory);

/* Makes [memory, memory + bytes) readable (writable: also writable) at this rank for a system call that
 * follows at once. Blocks. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (not all of it is shared). */
int musubi_touch(const void* memory, size_t bytes, int writable);

/* A hint that this rank will read (writable: also write) [memory, memory + bytes) soon: brings it now,
 * without a fault for each block. Blocks while it does. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS. */
int musubi_prefetch(const void* memory, size_t bytes, int writable);

/* A hint that this rank has written [memory, memory + bytes) for others: publishes it now, so that the next
 * barrier, unlock or flush has less to do. It orders nothing: others see it when they synchronise with this
 * rank afterwards. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS. */
int musubi_release_range(const void* memory, size_t bytes);

/* Where the blocks of an allocation begin their life. */
enum {
  MUSUBI_PLACE_CYCLIC = 0,     /* block i at rank i modulo musubi_size() */
  MUSUBI_PLACE_BLOCK = 1,      /* an equal part at each rank */
  MUSUBI_PLACE_AT = 2,         /* all at rank `home` */
  MUSUBI_PLACE_FIRST_TOUCH = 3 /* at the rank that writes first; MUSUBI_POLICY_MIGRATING only */
};
/* How they stay coherent where ranks have memories of their own. */
enum {
  MUSUBI_POLICY_MIGRATING = 0, /* a block moves to the rank that wrote it last */
  MUSUBI_POLICY_HOME = 1,      /* a block stays where it was placed */
  /* Entry consistency, as sms.h has it: cheap locks, and weaker promises. What is written under a lock
   * (musubi_lock) is seen by those that hold it afterwards, and by no others; a barrier shows everything.
   * Flushes and reader-writer locks show nothing. Every thread must come to barriers. `placement` says
   * which rank gives out copies of a block at first. */
  MUSUBI_POLICY_ENTRY = 2
};
#define MUSUBI_BLOCK_BYTES_MAX 2097152u

/* What an allocation may have of its own. All zeros is the default. */
typedef struct musubi_attributes {
  size_t alignment;   /* a power of two up to 1 GiB; 0: 16 */
  size_t block_bytes; /* the unit that travels: a power of two, a page to 2 MiB; 0: as in the heap */
  int placement;      /* MUSUBI_PLACE_... */
  int home;           /* a rank, with MUSUBI_PLACE_AT; otherwise 0 */
  int policy;         /* MUSUBI_POLICY_... */
  /* With MUSUBI_POLICY_ENTRY: bytes that are compared and passed on as a whole, counted from the beginning.
   * 0: each by itself. With an alignment above a page it divides a page. */
  size_t element_bytes;
} musubi_attributes;

/* Shared memory for `bytes` bytes, with undefined contents, at the same *memory on every rank. For large
 * arrays: it takes whole blocks, and addresses of the setting segments_bytes. Collective, blocks. Errors, the
 * same at every rank: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (a null pointer), MUSUBI_ERROR_ARGUMENT (no
 * such attribute, no bytes), MUSUBI_ERROR_MEMORY. Ranks that ask for different things end the job with a
 * line. */
int musubi_alloc_with(const musubi_attributes* attributes, size_t bytes, void** memory);

/* Gives memory of musubi_alloc_with back; a later one with the same attributes gets it. Collective, blocks.
 * Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (not the beginning of such memory). Ranks that free
 * different memory end the job with a line. */
int musubi_free_with(void* memory);

#ifdef __cplusplus
}
#endif

#endif
