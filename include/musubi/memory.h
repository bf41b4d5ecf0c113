/* Part of musubi.h: shared memory.
 *
 *     double* row = musubi_alloc(1000 * sizeof *row);                  // one rank allocates
 *     if (row == NULL) musubi_abort(1, "no shared memory is left");
 *
 *     musubi_attributes attributes = {0};                              // all ranks allocate together
 *     attributes.placement = MUSUBI_PLACE_BLOCK;
 *     void* table = NULL;
 *     int error = musubi_alloc_with(&attributes, (size_t)1 << 30, &table);
 *     if (error != MUSUBI_OK) musubi_abort(1, musubi_error_text(error));
 *     musubi_free_with(table);
 *     musubi_free(row);
 */
#ifndef MUSUBI_MEMORY_H
#define MUSUBI_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates `bytes` bytes of shared memory, uninitialised and aligned to 16 bytes (from 128 KiB on to a
 * block of the protocol). Result: the address, which is valid on every rank (pass it on in shared memory or
 * by musubi_broadcast); null when this rank's part of the heap (setting heap_bytes) is full. Does not
 * block. */
void* musubi_alloc(size_t bytes);

/* As musubi_alloc, with an alignment of `alignment` bytes, a power of two up to 1 GiB; null also for any
 * other alignment. Does not block. */
void* musubi_alloc_aligned(size_t alignment, size_t bytes);

/* As musubi_alloc, from the heap of rank `rank`, which becomes the initial home of the blocks; null also if
 * there is no such rank. Blocks until a thread of the runtime there has answered; the program's threads of
 * that rank need not call anything. */
void* musubi_alloc_at(int rank, size_t bytes);

/* Frees memory of the three functions above. Any rank may free it; no rank may use it afterwards. Null:
 * does nothing. Blocks if another rank allocated it. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS. */
int musubi_free(void* memory);

/* Makes [memory, memory + bytes) readable (writable: also writable) at this rank, for a system call that
 * follows at once. Blocks. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (not all of it is shared). */
int musubi_touch(const void* memory, size_t bytes, int writable);

/* Prefetches [memory, memory + bytes), which this rank will read (writable: also write) soon: saves a fault
 * per block. A hint. Blocks until the bytes are here. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS. */
int musubi_prefetch(const void* memory, size_t bytes, int writable);

/* Publishes [memory, memory + bytes), which this rank has written and other ranks will read, so that the
 * next barrier, unlock or flush has less to do. A hint: it orders nothing, and other ranks see the bytes
 * when they synchronise with this rank afterwards. Blocks. Errors: MUSUBI_ERROR_STATE,
 * MUSUBI_ERROR_ADDRESS. */
int musubi_release_range(const void* memory, size_t bytes);

/* The initial home of each block of an allocation. */
enum {
  MUSUBI_PLACE_CYCLIC = 0,     /* block i at rank i modulo musubi_size() */
  MUSUBI_PLACE_BLOCK = 1,      /* an equal part at each rank */
  MUSUBI_PLACE_AT = 2,         /* all blocks at rank `home` */
  MUSUBI_PLACE_FIRST_TOUCH = 3 /* at the rank that writes first; MUSUBI_POLICY_MIGRATING only */
};
/* The coherence policy of an allocation, for ranks with memories of their own. */
enum {
  MUSUBI_POLICY_MIGRATING = 0, /* the home of a block moves to the rank that wrote it last (paper TS, 3.1) */
  MUSUBI_POLICY_HOME = 1,      /* the home of a block stays where it was placed */
  /* Entry consistency, as in sms.h (paper SMS, 3.2): cheap locks and weaker promises. Writes under a lock
   * (musubi_lock) become visible to later holders of the same lock only; a barrier makes all writes
   * visible. Flushes and reader-writer locks make nothing visible. Every thread must take part in barriers.
   * `placement` chooses the rank that serves the first copies of a block. */
  MUSUBI_POLICY_ENTRY = 2,
  /* As MUSUBI_POLICY_HOME, for memory that a rank writes and does not read, as the target of a scatter or of
   * a transpose: with MUSUBI_CHECKED_BY_CODE a block that is not here is stored to without being fetched
   * (paper CC, home-only). With MUSUBI_CHECKED_BY_PAGES it is MUSUBI_POLICY_HOME. */
  MUSUBI_POLICY_HOME_ONLY = 3
};
/* What finds the first access of a rank to a block that is not here, for ranks with memories of their own. */
enum {
  MUSUBI_CHECKED_BY_PAGES = 0, /* the protection of pages */
  /* Checks alone, which musubi-cc --musubi=udsm has put into all code of the program that touches the memory:
   * an access that no check came before reads old bytes, or is lost. So call musubi_touch before a function
   * of a library, or of gas.h, uses the memory as a buffer. Collective calls and copies of gheap.h need no
   * such call; other functions of musubi.h must not store a result there. MUSUBI_POLICY_HOME only. In a child
   * made by fork the memory is not mapped. */
  MUSUBI_CHECKED_BY_CODE = 1
};
#define MUSUBI_BLOCK_BYTES_MAX 2097152u
#define MUSUBI_CHECKED_BLOCK_BYTES_MIN 64u

/* Attributes of one allocation. All zeros are the defaults. */
typedef struct musubi_attributes {
  size_t alignment; /* bytes, a power of two up to 1 GiB; 0: 16 */
  /* The unit of coherence: a power of two to 2 MiB, at least a page, or with MUSUBI_CHECKED_BY_CODE 64 and a
   * granule of the checks; 0: as in the heap. */
  size_t block_bytes;
  int placement; /* MUSUBI_PLACE_... */
  int home;      /* a rank, with MUSUBI_PLACE_AT; otherwise 0 */
  int policy;    /* MUSUBI_POLICY_... */
  int checks;    /* MUSUBI_CHECKED_... */
  /* With MUSUBI_POLICY_ENTRY: the bytes that are compared and passed on as one element, counted from the
   * beginning; 0: each byte by itself. With an alignment above a page it must divide the page size. */
  size_t element_bytes;
} musubi_attributes;

/* Allocates `bytes` bytes of uninitialised shared memory, at the same *memory on every rank. Meant for
 * large arrays: it takes whole blocks, and addresses of the setting segments_bytes. Collective, blocks.
 * Errors, the same on every rank: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (a null pointer),
 * MUSUBI_ERROR_ARGUMENT (no such attribute, or no bytes; of MUSUBI_CHECKED_BY_CODE rank 0 prints a line that
 * says why the program cannot have it), MUSUBI_ERROR_MEMORY. When ranks pass different
 * arguments the job ends with a line that names them. */
int musubi_alloc_with(const musubi_attributes* attributes, size_t bytes, void** memory);

/* Rank `rank` becomes the home of [memory, memory + bytes), of musubi_alloc_with: of all blocks that hold a
 * byte of it. With MUSUBI_POLICY_HOME and MUSUBI_POLICY_HOME_ONLY other ranks' changes go there from now on
 * (paper CC, homes by annotation); with MUSUBI_POLICY_MIGRATING the home of a block is its last writer, and
 * the call is a barrier. Collective, blocks; no thread uses the range until all ranks have returned. Errors,
 * the same on every rank: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (not inside of one such allocation),
 * MUSUBI_ERROR_ARGUMENT (no such rank; memory of MUSUBI_POLICY_ENTRY). When ranks pass different arguments
 * the job ends with a line that names them. */
int musubi_set_home(const void* memory, size_t bytes, int rank);

/* Frees memory of musubi_alloc_with; a later call with the same attributes may return it again. Collective,
 * blocks. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (not the beginning of such memory). When ranks
 * free different memory the job ends with a line that names them. */
int musubi_free_with(void* memory);

#ifdef __cplusplus
}
#endif

#endif
