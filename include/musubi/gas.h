/* Relocatable global pages (Endo and Taura: a global address space on RDMA): memory in pages, each at some
 * rank, which every rank reads and writes by its global address, and which any rank may bring to itself.
 *
 * A page has a home, which never changes and knows where the page is, and an owner, who has its bytes. A rank
 * that has used a page knows where it is: get and put go straight there, and touch no network when it is the
 * rank itself. gas_own makes the caller the owner; reads and writes of others go on meanwhile, but for a
 * moment in which writes wait. Neither home nor owner need do anything for any of these calls.
 *
 * Order: each aligned word of 8 bytes is read and written as a whole, and its reads and writes are
 * linearizable, whoever does them and wherever the page moves meanwhile: what a call has written is seen by
 * every call that begins after it has returned. Longer ranges are not one access.
 *
 * Called between musubi_init and musubi_finalize, on any attached thread, not from a signal handler. A
 * refused call changes nothing and returns -1 (gas_alloc: 0); gas_error() then says why, and with
 * `--set explain_refusals=true` a line on standard error does. Collective calls are made by one thread of
 * every rank, in the same order with the same arguments; the job ends if not.
 */
#ifndef MUSUBI_GAS_H
#define MUSUBI_GAS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A byte of global pages. Bytes of one allocation follow on each other; 0 is none. */
typedef uint64_t gas_address;

/* Why a call was refused. */
enum {
  GAS_OK = 0,
  GAS_STATE = 1,     /* outside of musubi_init and musubi_finalize */
  GAS_RANGE = 2,     /* not all of it is in one allocation that is not yet freed */
  GAS_POINTER = 3,   /* a null pointer */
  GAS_MEMORY = 4,    /* no memory for pages is left where they should be */
  GAS_PAGE = 5,      /* a page is a power of two, from 64 bytes to 16 MiB */
  GAS_PLACEMENT = 6, /* no such rank or rule */
  GAS_ALIGNMENT = 7, /* no multiple of 8 */
  GAS_HANDLE = 8,    /* no call of this thread that is under way */
  GAS_SHARED = 9     /* shared already, or not shared */
};

/* Homes of the pages of an allocation, who also own them first; a rank's number: all there. */
enum {
  GAS_BLOCK = -1, /* an equal part for each rank, the first for rank 0 */
  GAS_CYCLIC = -2 /* by turns */
};

/* Takes `bytes` bytes, all zero, in pages of `page_bytes`. Collective. Result: the address of the first, or
 * 0: STATE, RANGE (no bytes, or 1 TiB and more), PAGE, PLACEMENT, MEMORY. */
gas_address gas_alloc(size_t bytes, size_t page_bytes, int placement);
/* Frees what gas_alloc gave, at whatever ranks it is. Collective: nobody uses it any more. STATE, RANGE (not
 * the first byte of an allocation). */
int gas_free(gas_address address);

/* Copies between this process's memory, shared memory included, and global pages. STATE, RANGE, POINTER. */
int gas_get(gas_address address, void* local, size_t bytes);
int gas_put(gas_address address, const void* local, size_t bytes);
/* The same for `count` items of `item_bytes`, which lie one behind the other in `local`. Item i is at
 * address + i * stride bytes, or at address + places[i] bytes. */
int gas_get_strided(gas_address address, ptrdiff_t stride, void* local, size_t item_bytes, size_t count);
int gas_put_strided(gas_address address, ptrdiff_t stride, const void* local, size_t item_bytes,
                    size_t count);
int gas_get_indexed(gas_address address, const ptrdiff_t* places, void* local, size_t item_bytes,
                    size_t count);
int gas_put_indexed(gas_address address, const ptrdiff_t* places, const void* local, size_t item_bytes,
                    size_t count);

/* Brings the pages of [address, address + bytes), or those of the listed bytes, to this rank, several at a
 * time. STATE, RANGE, POINTER, MEMORY (some may have come), SHARED. */
int gas_own(gas_address address, size_t bytes);
int gas_own_list(const gas_address* addresses, size_t count);
/* The owner of the page of `address`, or who was a moment ago. STATE, RANGE. */
int gas_where(gas_address address);

/* Begun only: `local` stays untouched, and is not read, until the call is complete. Calls that are under way
 * at the same time have no order. Result: a handle of this thread for gas_wait or gas_test; 0, which both
 * take, too, when it is complete at once; or -1: as above. A gas_own that finds no memory is complete, and
 * the page stays where it was: gas_where tells. A thread that ends, or detaches, waits for its calls. */
long gas_get_begin(gas_address address, void* local, size_t bytes);
long gas_put_begin(gas_address address, const void* local, size_t bytes);
long gas_own_begin(gas_address address, size_t bytes);
/* Waits until the call is complete. Handles of gheap.h do as well. Result: 0, or -1: HANDLE, STATE. */
int gas_wait(long handle);
/* Result: 1 if the call is complete, 0 if it is under way, or -1: HANDLE, STATE. Never blocks. */
int gas_test(long handle);

/* Atomic operations on aligned words of 8 bytes. `old` gets the value before and may be null. compare_swap
 * stores `desired` if the word is `expected`. STATE, RANGE, ALIGNMENT. */
int gas_fetch_add(gas_address address, uint64_t amount, uint64_t* old);
int gas_swap(gas_address address, uint64_t value, uint64_t* old);
int gas_compare_swap(gas_address address, uint64_t expected, uint64_t desired, uint64_t* old);
int gas_fetch_and(gas_address address, uint64_t bits, uint64_t* old);
int gas_fetch_or(gas_address address, uint64_t bits, uint64_t* old);
int gas_fetch_xor(gas_address address, uint64_t bits, uint64_t* old);

/* From now on an allocation is shared memory, too: *memory is where every rank has it, for plain loads and
 * stores. All calls above but gas_own go on working, as loads, stores and atomic operations of the caller on
 * that memory; so what orders it is what orders shared memory (barriers, locks, flushes of musubi.h), until
 * gas_unshare makes it global pages again, with the bytes that shared memory then has. Collective, both are
 * barriers. `address` is the first of the allocation. STATE, RANGE, POINTER, SHARED, MEMORY. */
int gas_share(gas_address address, void** memory);
int gas_unshare(gas_address address);

/* Why the last call of this header on this thread was refused; GAS_OK if it was not. */
int gas_error(void);
/* One line without a newline, never null. Any thread, at any time. */
const char* gas_error_text(int error);

#ifdef __cplusplus
}
#endif

#endif
