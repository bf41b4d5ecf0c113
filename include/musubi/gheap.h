/* The asynchronous global heap (Ajima et al., paper AGH of docs/design/papers.md): memory at any process,
 * by one-sided operations alone.
 *
 * Each process has one global heap, which ginit makes. From then on any process allocates memory of any
 * heap, reads and writes it, without help from the process that owns it: no collective call, no
 * registration, no exchange of keys.
 *
 *     struct note note = {musubi_rank(), 42};
 *     if (ginit(1 << 20) != 0) musubi_abort(1, musubi_gerror_text(musubi_gerror()));
 *     musubi_barrier();                                      // every heap is there
 *     long place = musubi_galloc(next, sizeof note);         // memory at process `next`
 *     if (place < 0 || musubi_gput(next, place, &note, sizeof note) != 0) {
 *       musubi_abort(1, musubi_gerror_text(musubi_gerror()));
 *     }
 *     musubi_gget(next, place, &note, sizeof note);
 *     musubi_gfree(next, place);
 *
 * Layout: global memory grows from the front of the heap up to the global break; local memory, for the
 * owner's own allocator, grows from the back down to the global limit. The space between them is free.
 * Processes are numbered as ranks (musubi_rank). Breaks, limits and offsets are in bytes from the beginning
 * of the heap.
 *
 * ginit, gbrk, sgbrk, gglimit and sglimit are the functions of section 3.2 of the paper; results that hold
 * an offset are `long`, 64 bits wide, where the paper has `int`. The other functions are additions: copies,
 * and the allocator, the pages and the growth that section 6 leaves to the future.
 *
 * Order: a put is complete, and visible to every process, when it returns; an aligned word of 8 bytes is
 * read and written as a whole. Global memory is not shared memory: plain loads and stores work on the
 * process's own heap (musubi_gaddress), and barriers and locks of musubi.h do not make these accesses
 * visible.
 *
 * Threads: any attached thread may call these functions between musubi_init and musubi_finalize, but not in
 * a signal handler. Blocks: calls return when they are complete, but none waits for program code of another
 * process; a call may wait for another process that is inside a call on the same heap.
 *
 * Errors: a call that is refused changes nothing and returns the published result, or -1. musubi_gerror()
 * says why, and with `--set explain_refusals=true` a line on standard error does. The comments below list
 * the codes without MUSUBI_GHEAP_.
 */
#ifndef MUSUBI_GHEAP_H
#define MUSUBI_GHEAP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The reason for a refusal. */
enum {
  MUSUBI_GHEAP_OK = 0,
  MUSUBI_GHEAP_STATE = 1,         /* before musubi_init or ginit, after musubi_finalize, or a second ginit */
  MUSUBI_GHEAP_PROCESS = 2,       /* no such process */
  MUSUBI_GHEAP_STALE = 3,         /* another call has moved the break since */
  MUSUBI_GHEAP_FULL = 4,          /* too little space between break and limit */
  MUSUBI_GHEAP_RANGE = 5,         /* no such offset in the heap, or the break cannot go back so far */
  MUSUBI_GHEAP_CAPACITY = 6,      /* more than the setting global_bytes allows a heap */
  MUSUBI_GHEAP_ADDRESS = 7,       /* a null pointer */
  MUSUBI_GHEAP_NOT_ALLOCATED = 8, /* no allocation begins there */
  MUSUBI_GHEAP_FREE_ALREADY = 9,  /* freed twice, or never allocated */
  MUSUBI_GHEAP_ALIGNMENT = 10,    /* not a power of two */
  MUSUBI_GHEAP_HANDLE = 11        /* not a copy of this thread that is under way */
};

/* Makes this process's heap of `size` bytes, all zero. Collective (sizes may differ), once, blocks. Result:
 * 0, or -1: STATE, RANGE (negative), CAPACITY. */
int ginit(long size);

/* Moves the global break of process `proc` from `old_gbrk` to `new_gbrk`. Result: `new_gbrk`; the break
 * that stays in force: STALE, FULL, RANGE; or -1: STATE, PROCESS. */
long gbrk(int proc, long old_gbrk, long new_gbrk);

/* Moves the global break of process `proc` by `increment`. Result: the break before the call, where the new
 * memory begins; or -1: FULL, RANGE, STATE, PROCESS. Neither gbrk nor sgbrk moves the break back below
 * memory of musubi_galloc or gmap: RANGE. */
long sgbrk(int proc, long increment);

/* Reads the global break and limit of process `proc`, both as of one moment. Either pointer may be null.
 * Result: 0, or -1: STATE, PROCESS. */
int gglimit(int proc, long* gbrk, long* glimit);

/* Moves the global limit of this process. Result: 0, or -1: FULL (below the break), RANGE (after the end of
 * the heap), STATE. */
int sglimit(long new_glimit);

/* Makes the heap of process `proc` longer by `bytes`. If the heap has no local memory at its end, the free
 * space grows. Otherwise the new space after the local memory becomes the free space, with break and limit
 * in it, and the former free space belongs to the caller: *left and *left_bytes (either may be null) tell
 * its offset and size. Result: 0, or -1: CAPACITY, RANGE (negative), STATE, PROCESS. */
int musubi_ggrow(int proc, long bytes, long* left, long* left_bytes);

/* Copy `bytes` bytes between memory of this process, private or shared, and `offset` of the heap of process
 * `proc`, whichever process allocated it. Result: 0, or -1: RANGE, ADDRESS, STATE, PROCESS. */
int musubi_gget(int proc, long offset, void* local, size_t bytes);
int musubi_gput(int proc, long offset, const void* local, size_t bytes);

/* Begin a copy. Leave `local` untouched, and do not read it, until the copy is complete. Copies under way
 * at the same time have no order. Result: a handle for musubi_gwait and musubi_gtest of this thread, valid
 * until one of them has reported the end of the copy; 0, which both accept, if the copy is complete
 * already; or -1: as above. A thread that ends or detaches waits for its copies. */
long musubi_gget_begin(int proc, long offset, void* local, size_t bytes);
long musubi_gput_begin(int proc, long offset, const void* local, size_t bytes);
/* Waits until the copy is complete. Accepts handles of gas.h, too. Result: 0, or -1: HANDLE, STATE. */
int musubi_gwait(long handle);
/* Result: 1 if the copy is complete, 0 if it is under way, or -1: HANDLE, STATE. Does not block. */
int musubi_gtest(long handle);

/* The address of `offset` of the heap of process `proc` for plain loads and stores of this process. Always
 * available for its own heap, and for heaps that the processor reaches. Otherwise null: RANGE, STATE,
 * PROCESS. */
void* musubi_gaddress(int proc, long offset);

/* The allocator: allocates `bytes` bytes (0 counts as 1) of the heap of process `process`, uninitialised,
 * at a multiple of 16. A full heap grows. The common case needs no remote operation: each thread caches
 * free objects of each heap, and returns them when it detaches or ends. An object of more than 64 bytes
 * takes at most a quarter more than `bytes`. Memory that was divided into objects of one size is not used
 * for other sizes. Result: the offset, or -1: CAPACITY, STATE, PROCESS. */
long musubi_galloc(int process, size_t bytes);

/* Frees memory of musubi_galloc, from any process and thread. Result: 0, or -1: NOT_ALLOCATED (no object
 * begins there: an offset inside an object, of gmap, or of a break), FREE_ALREADY, STATE, PROCESS.
 *
 * With `--set gheap_checks=full` every double free, and every free of memory that was never allocated, is
 * detected at once, at the cost of three operations at the heap per pair of calls. Without it this holds
 * for objects of more than 256 KiB; a smaller object is detected at once if this process freed it and still
 * caches it. If another process freed it, the double free is detected and undone when both frees meet
 * (explain_refusals prints a line), or never: two holders then share an object, as after a double free().
 * An offset that is passed with the number of another process is refused only if no object begins there. */
int musubi_gfree(int process, long offset);

/* The page-wise counterpart of mmap: allocates whole pages of 4096 bytes of the heap of process `process`,
 * uninitialised. `bytes` is rounded up; the offset is a multiple of `alignment`, a power of two, or of a
 * page if that is less or 0. A full heap grows. Each call costs some operations at the heap and a search
 * through the free pages: meant for large allocations. Result: the offset, or -1: RANGE (no bytes),
 * ALIGNMENT, CAPACITY, STATE, PROCESS. */
long gmap(int process, size_t bytes, size_t alignment);

/* Frees the pages of [offset, offset + bytes), `bytes` rounded up: all or part of an allocation of gmap, or
 * several neighbours at once, in any order, from any process. Free neighbours are joined. Result: 0, or -1:
 * RANGE (not at a page, no bytes, not in the heap), NOT_ALLOCATED (a page that gmap did not allocate),
 * FREE_ALREADY, STATE, PROCESS. */
int gunmap(int process, long offset, size_t bytes);

/* The reason why the last call of this header on this thread was refused; MUSUBI_GHEAP_OK if it was not
 * refused. */
int musubi_gerror(void);
/* The meaning of a code: one line without a newline, never null. Any thread may call it at any time. */
const char* musubi_gerror_text(int error);

#ifdef __cplusplus
}
#endif

#endif
