/* Relocatable global pages (Endo and Taura, paper GAS of docs/design/papers.md, sections 2 and 3): memory
 * in pages, each at some rank. Every rank reads and writes a page by its global address, and any rank may
 * move it to itself.
 *
 *     gas_address table = gas_alloc(count * sizeof(double), 4096, GAS_CYCLIC);  // on every rank
 *     double value = 1.5;
 *     if (table == 0 || gas_put(table + 8 * i, &value, sizeof value) != 0) {
 *       musubi_abort(1, gas_error_text(gas_error()));
 *     }
 *     musubi_barrier();
 *     if (musubi_rank() == 0) gas_own(table, 4096);               // local accesses from here on
 *     gas_get(table, &value, sizeof value);
 *     musubi_barrier();
 *     gas_free(table);                             // on every rank
 *
 * A page has a home, which never changes and knows where the page is, and an owner, which stores its bytes.
 * A rank that has used a page knows its owner: gas_get and gas_put go straight there, and use no network
 * when the owner is the calling rank. gas_own makes the caller the owner. During the move other ranks go on
 * reading the page; writes wait for its end. No call waits for program code of the home or of the owner.
 *
 * Order: each aligned word of 8 bytes is read and written as a whole. Its reads and writes are
 * linearizable, also while the page moves: every call that begins after a write has returned sees that
 * write. A longer range is not one access.
 *
 * Blocks: gas_get, gas_put, gas_own, their variants and the atomic operations return when they are
 * complete, and may wait for a reply of the home or the owner, and for a move of the page. gas_get_begin,
 * gas_put_begin and gas_own_begin return at once, except for shared pages and for `local` in shared memory.
 *
 * Threads: any attached thread may call these functions between musubi_init and musubi_finalize, but not in
 * a signal handler. Collective: one thread of every rank makes the call, in the same order with the same
 * arguments; otherwise the job ends.
 *
 * Errors: a call that is refused changes nothing and returns -1 (gas_alloc: 0). gas_error() says why, and
 * with `--set explain_refusals=true` a line on standard error does. The comments below list the codes
 * without GAS_.
 */
#ifndef MUSUBI_GAS_H
#define MUSUBI_GAS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A byte in global pages. The bytes of an allocation have consecutive addresses; 0 is no address. */
typedef uint64_t gas_address;

/* The reason for a refusal. */
enum {
  GAS_OK = 0,
  GAS_STATE = 1,     /* before musubi_init or after musubi_finalize */
  GAS_RANGE = 2,     /* the range is not inside one allocation that is in use */
  GAS_POINTER = 3,   /* a null pointer */
  GAS_MEMORY = 4,    /* the rank that would store the pages has no memory left */
  GAS_PAGE = 5,      /* the size of a page is not a power of two from 64 bytes to 16 MiB */
  GAS_PLACEMENT = 6, /* no such rank or placement */
  GAS_ALIGNMENT = 7, /* the address is not a multiple of 8 */
  GAS_HANDLE = 8,    /* not an operation of this thread that is under way */
  GAS_SHARED = 9     /* shared already, or not shared */
};

/* Placement: the home of each page, which is also its first owner. A rank's number places all pages at that
 * rank. */
enum {
  GAS_BLOCK = -1, /* an equal, contiguous part at each rank, the first at rank 0 */
  GAS_CYCLIC = -2 /* round-robin: page i at rank i modulo musubi_size() */
};

/* Allocates `bytes` bytes, all zero, in pages of `page_bytes`. Collective. Result: the address of the first
 * byte, a multiple of page_bytes, so pages begin at the multiples of page_bytes; or 0: STATE, RANGE (no
 * bytes, or 1 TiB and more), PAGE, PLACEMENT, MEMORY. */
gas_address gas_alloc(size_t bytes, size_t page_bytes, int placement);
/* Frees an allocation, at whichever ranks its pages are. Collective; no rank may use it any more. Result:
 * 0, or -1: STATE, RANGE (not the first byte of an allocation). */
int gas_free(gas_address address);

/* Copy between global pages and memory of this process, private or shared, of any alignment. A range may
 * cover several pages. Block until the copy is complete. Result: 0, or -1: STATE, RANGE, POINTER. */
int gas_get(gas_address address, void* local, size_t bytes);
int gas_put(gas_address address, const void* local, size_t bytes);
/* The same for `count` items of `item_bytes` bytes, stored contiguously in `local`. Item i is at address +
 * i * stride bytes, or at address + places[i] bytes. */
int gas_get_strided(gas_address address, ptrdiff_t stride, void* local, size_t item_bytes, size_t count);
int gas_put_strided(gas_address address, ptrdiff_t stride, const void* local, size_t item_bytes,
                    size_t count);
int gas_get_indexed(gas_address address, const ptrdiff_t* places, void* local, size_t item_bytes,
                    size_t count);
int gas_put_indexed(gas_address address, const ptrdiff_t* places, const void* local, size_t item_bytes,
                    size_t count);

/* Move the pages of [address, address + bytes), or the pages of the listed bytes, to this rank, several
 * pages at a time. Block. Result: 0, or -1: STATE, RANGE, POINTER, MEMORY (some pages may have moved),
 * SHARED. */
int gas_own(gas_address address, size_t bytes);
int gas_own_list(const gas_address* addresses, size_t count);
/* Result: the rank that owns the page of `address`, or owned it a moment ago; or -1: STATE, RANGE. May wait
 * for a reply of the page's home. */
int gas_where(gas_address address);

/* Begin the operation. Leave `local` untouched, and do not read it, until the operation is complete.
 * Operations under way at the same time have no order. Result: a handle of this thread for gas_wait or
 * gas_test; 0, which both accept, if the operation is complete already; or -1: as above. A gas_own_begin
 * that finds no memory completes and leaves the page where it is; gas_where tells. A thread that ends or
 * detaches waits for its operations. */
long gas_get_begin(gas_address address, void* local, size_t bytes);
long gas_put_begin(gas_address address, const void* local, size_t bytes);
long gas_own_begin(gas_address address, size_t bytes);
/* Waits until the operation is complete. Accepts handles of gheap.h, too. Result: 0, or -1: HANDLE,
 * STATE. */
int gas_wait(long handle);
/* Result: 1 if the operation is complete, 0 if it is under way, or -1: HANDLE, STATE. Does not block. */
int gas_test(long handle);

/* Atomic operations on aligned words of 8 bytes. `old` receives the value before the operation and may be
 * null. gas_compare_swap stores `desired` if the word equals `expected`. Block. Result: 0, or -1: STATE,
 * RANGE, ALIGNMENT. */
int gas_fetch_add(gas_address address, uint64_t amount, uint64_t* old);
int gas_swap(gas_address address, uint64_t value, uint64_t* old);
int gas_compare_swap(gas_address address, uint64_t expected, uint64_t desired, uint64_t* old);
int gas_fetch_and(gas_address address, uint64_t bits, uint64_t* old);
int gas_fetch_or(gas_address address, uint64_t bits, uint64_t* old);
int gas_fetch_xor(gas_address address, uint64_t bits, uint64_t* old);

/* gas_share makes an allocation shared memory for plain loads and stores, at *memory on every rank, aligned
 * to a memory page; gas_unshare makes it global pages again, with the bytes that the shared memory then
 * holds. In between all functions above except gas_own act as loads, stores and atomic operations of the
 * caller on that memory, and only the barriers, locks and flushes of musubi.h order them. Both are
 * collective and barriers. `address` is the first byte of the allocation. Result: 0, or -1: STATE, RANGE,
 * POINTER, SHARED, MEMORY. */
int gas_share(gas_address address, void** memory);
int gas_unshare(gas_address address);

/* The reason why the last call of this header on this thread was refused; GAS_OK if it was not refused. */
int gas_error(void);
/* The meaning of a code: one line without a newline, never null. Any thread may call it at any time. */
const char* gas_error_text(int error);

#ifdef __cplusplus
}
#endif

#endif
