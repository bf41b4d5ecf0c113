/* Musubi for programs that share memory explicitly.
 *
 * `musubi run -n 4 ./program` starts the program four times; each process is a rank and runs main().
 * Globals, stacks and malloc are private to each rank. The memory that musubi_alloc returns is shared, at
 * the same address on every rank.
 *
 *     #include <musubi/musubi.h>
 *     int main(int argc, char** argv) {
 *       long* sum = NULL;
 *       if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
 *       if (musubi_rank() == 0) *(sum = musubi_alloc(sizeof *sum)) = 0;
 *       musubi_broadcast((void**)&sum);
 *       musubi_lock(0);
 *       *sum += musubi_rank();
 *       musubi_unlock(0);
 *       return musubi_finalize(0) == MUSUBI_OK ? 0 : 1;
 *     }
 *
 * Visibility: a write becomes visible to another rank when that rank synchronises with the writer
 * afterwards, by a barrier, a lock, or a flush on both sides. A program that orders all accesses to the
 * same bytes in this way is sequentially consistent. Two ranks may write different bytes of a page at the
 * same time. Words that ranks access without such an order need the musubi_atomic_ functions, on all ranks.
 *
 * Results: functions that return int return MUSUBI_OK or an error code. A call that fails changes nothing.
 *
 * Threads: unless stated otherwise, any attached thread may call a function between musubi_init and
 * musubi_finalize. The thread that called musubi_init is attached; other threads call musubi_attach_thread.
 *
 * Blocks: the call may wait for other ranks; the thread sleeps while it waits. Collective: one thread of
 * every rank makes the call, in the same order as other collective calls; the other threads of the rank do
 * not access shared memory during the call.
 *
 * On one host all ranks map one memory, which the processors keep coherent. Ranks on several hosts, and
 * ranks with `--set coherence=protocol`, have memories of their own. Their protocol follows Endo and Taura
 * (paper TS of docs/design/papers.md, sections 3.1 to 3.4). System calls do not fetch shared memory there:
 * read(2), write(2) and similar calls fail with EFAULT on a buffer that the rank does not hold at that
 * moment. Use a private buffer, or call musubi_touch first.
 *
 * Compile with -I<prefix>/include and link with -lmusubi. C11 or later, C++11 or later.
 */
#ifndef MUSUBI_MUSUBI_H
#define MUSUBI_MUSUBI_H

#include <musubi/atomics.h>
#include <musubi/checks.h>
#include <musubi/collectives.h>
#include <musubi/job.h>
#include <musubi/memory.h>
#include <musubi/synchronization.h>
#include <stddef.h>
#include <stdint.h>

#endif
