/* The asynchronous global heap (Ajima et al.): memory at any process, by one-sided operations alone.
 *
 * Each process has one global heap, made by ginit. From then on any process takes memory of any heap, and
 * reads and writes it, without the help of the process that owns it: no collective call, no registration, no
 * exchange of keys. Global memory is cut from the front, up to the global break; local memory, for the
 * owner's own allocator, from the back, down to the global limit. What lies between is free.
 *
 * Processes are numbered as ranks (musubi_rank). Breaks, limits and offsets count bytes from the beginning of
 * the heap. As published, but for one thing: results that hold an offset are `long`, 64 bits wide, where the
 * paper has `int`.
 *
 * Called between musubi_init and musubi_finalize, on any attached thread, not from a signal handler. A
 * refused call changes nothing and gives the published result; musubi_gerror() then says why, and with
 * `--set explain_refusals=true` a line on standard error does. No call waits for a process to do anything,
 * except for another process inside one of these calls on the same heap.
 *
 * Global memory is not shared memory: plain loads and stores work on one's own heap (musubi_gaddress), and
 * what barriers and locks of musubi.h order is shared memory, not these operations. A put is complete, and
 * visible to every process, when it returns; a word of 8 aligned bytes is read and written as a whole.
 */
#ifndef MUSUBI_GHEAP_H
#define MUSUBI_GHEAP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a call was refused. */
enum {
  MUSUBI_GHEAP_OK = 0,
  MUSUBI_GHEAP_STATE = 1,    /* outside of musubi_init and musubi_finalize, before ginit, or a second ginit */
  MUSUBI_GHEAP_PROCESS = 2,  /* no such process */
  MUSUBI_GHEAP_STALE = 3,    /* the break has been moved meanwhile */
  MUSUBI_GHEAP_FULL = 4,     /* not so much lies between break and limit */
  MUSUBI_GHEAP_RANGE = 5,    /* no such offset in the heap, or the break cannot go back so far */
  MUSUBI_GHEAP_CAPACITY = 6, /* more than the setting global_bytes leaves to a heap */
  MUSUBI_GHEAP_ADDRESS = 7,  /* a null pointer */
  MUSUBI_GHEAP_NOT_ALLOCATED = 8, /* nothing that was allocated begins there */
  MUSUBI_GHEAP_FREE_ALREADY = 9,  /* freed twice, or never given out */
  MUSUBI_GHEAP_ALIGNMENT = 10,    /* not a power of two */
  MUSUBI_GHEAP_HANDLE = 11        /* no copy of this thread that is under way */
};

/* Makes this process's heap, of `size` bytes, all zero. Collective, once, blocks; sizes may differ. Result:
 * 0, or -1: STATE, RANGE (negative), CAPACITY. */
int ginit(long size);

/* Moves the global break of process `proc` from `old_gbrk` to `new_gbrk`. Result: `new_gbrk`, or the break
 * that stays in force: STALE, FULL, RANGE; -1: STATE, PROCESS. */
long gbrk(int proc, long old_gbrk, long new_gbrk);

/* Moves the global break of process `proc` by `increment`. Result: the break before, where the new memory
 * begins; or -1: FULL, RANGE, STATE, PROCESS. Neither call goes back into memory that musubi_galloc or gmap
 * took: RANGE. */
long sgbrk(int proc, long increment);

/* Global break and limit of process `proc`, as they were together at one moment. Either pointer may be null.
 * Result: 0, or -1: STATE, PROCESS. */
int gglimit(int proc, long* gbrk, long* glimit);

/* Moves this process's own global limit. Result: 0, or -1: FULL (below the break), RANGE (behind the end),
 * STATE. */
int sglimit(long new_glimit);

/* Ours. Makes the heap of process `proc` longer by `bytes`. Without local memory at its end the free memory
 * becomes longer; otherwise the free memory goes on behind the local memory, break and limit with it, and
 * what was free before is the caller's: *left and *left_bytes (either may be null) say where it lies. Result:
 * 0, or -1: CAPACITY, RANGE (negative), STATE, PROCESS. */
int musubi_ggrow(int proc, long bytes, long* left, long* left_bytes);

/* Copies between this process's memory, shared memory included, and `bytes` bytes at `offset` of the heap of
 * process `proc`, whoever has taken them. Result: 0, or -1: RANGE, ADDRESS, STATE, PROCESS. */
int musubi_gget(int proc, long offset, void* local, size_t bytes);
int musubi_gput(int proc, long offset, const void* local, size_t bytes);

/* The same, begun only: `local` stays untouched, and is not read, until the copy is complete. Copies that are
 * under way at the same time have no order. Result: a handle of this thread for gwait or gtest, which it may
 * pass until one of them has said that the copy is complete; 0, which both take, too, when it is at once; or
 * -1: as above. A thread that ends, or detaches, waits for its copies. */
long musubi_gget_begin(int proc, long offset, void* local, size_t bytes);
long musubi_gput_begin(int proc, long offset, const void* local, size_t bytes);
/* Waits until the copy is complete. Handles of gas.h do as well. Result: 0, or -1: HANDLE, STATE. */
int musubi_gwait(long handle);
/* Result: 1 if the copy is complete, 0 if it is under way, or -1: HANDLE, STATE. Never blocks. */
int musubi_gtest(long handle);

/* Where `offset` of the heap of process `proc` is for plain loads and stores of this process: always for its
 * own heap, for others where the processor reaches them. Null otherwise: RANGE, STATE, PROCESS. */
void* musubi_gaddress(int proc, long offset);

/* Ours: the allocator. Takes `bytes` bytes (0 counts as 1) of the heap of process `process`, at a multiple of
 * 16; they contain anything. A heap that is full grows. The usual call does nothing at the other process:
 * each thread has free objects of each heap at hand, and gives them back when it detaches or ends. An object
 * of more than 64 bytes takes at most a quarter more than was asked for. Memory that was cut into objects of
 * one size does not serve others. Result: the offset, or -1: CAPACITY, STATE, PROCESS. */
long musubi_galloc(int process, size_t bytes);

/* Frees what musubi_galloc gave, at any process and thread. Result: 0, or -1 and nothing has happened:
 * NOT_ALLOCATED (no object begins there: inside of one, of gmap, of a break), FREE_ALREADY, STATE, PROCESS.
 *
 * With `--set gheap_checks=full` every double free, and every free of what was never given out, is found at
 * once, for three operations at the heap per pair of calls. Without, the same is true of objects of more than
 * 256 KiB; a smaller one is found at once if this process freed it and still has it at hand. If another
 * process has, it is found, and undone, when both meet (a line says so with explain_refusals), or not at all:
 * as with free(), two holders then share an object. Offsets of two heaps look alike: what is passed with
 * another process's number is refused only if no object begins there. */
int musubi_gfree(int process, long offset);

/* Ours: the page-wise counterpart of mmap. Takes whole pages of 4096 bytes of the heap of process `process`,
 * `bytes` rounded up, at an offset that is a multiple of `alignment`, a power of two; of a page if that is
 * less, or 0. They contain anything. A heap that is full grows. Costs some operations at the heap each time,
 * and a search through what was given back: for large things. Result: the offset, or -1: RANGE (no bytes),
 * ALIGNMENT, CAPACITY, STATE, PROCESS. */
long gmap(int process, size_t bytes, size_t alignment);

/* Gives back the pages of [offset, offset + bytes), `bytes` rounded up: all or a part of what gmap gave, also
 * several neighbours at once, in any order, from any process. Free neighbours are one again. Result: 0, or -1
 * and nothing has happened: RANGE (not at a page, no bytes, not in the heap), NOT_ALLOCATED (a page that gmap
 * did not give), FREE_ALREADY, STATE, PROCESS. */
int gunmap(int process, long offset, size_t bytes);

/* Why the last call of this header on this thread was refused; MUSUBI_GHEAP_OK if it was not. */
int musubi_gerror(void);
/* One line without a newline, never null. Any thread, at any time. */
const char* musubi_gerror_text(int error);

#ifdef __cplusplus
}
#endif

#endif
