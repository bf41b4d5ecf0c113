/* Musubi for programs that share memory explicitly.
 *
 * `musubi run -n 4 ./program` starts the program four times; each process is a rank and runs main(). Private
 * to each rank: globals, stacks, malloc. Shared: what musubi_alloc returns, at the same address on every
 * rank.
 *
 * What a rank wrote becomes visible to another that synchronises with it afterwards: through a barrier, a
 * lock, or a flush on both sides. A program whose accesses to the same bytes are ordered in this way behaves
 * as if there were one memory; two ranks may write different bytes of one page at the same time. Words that
 * ranks access without such an order are for the musubi_atomic_ functions, on all ranks.
 *
 * Functions that return int give MUSUBI_OK or one of the error codes; errors leave everything as it was.
 * Unless stated otherwise a function may be called by any thread between musubi_init and musubi_finalize; a
 * thread that did not call musubi_init calls musubi_attach_thread first. "Blocks": may wait for other ranks,
 * asleep rather than spinning. Collective: every rank calls it, one thread per rank, in the same order as
 * other collective calls; the rank's other threads leave shared memory alone meanwhile.
 *
 * On one host all ranks map one memory, and the processors keep it coherent; what follows is about memories
 * of their own, over hosts or by `--set coherence=protocol`. System calls do not fetch shared memory:
 * read(2), write(2) and their like fail with EFAULT on a buffer that this rank does not hold at that moment.
 * Use a private buffer, or musubi_touch.
 *
 * The functions stand in headers of one subject each, which this one includes.
 *
 * Compile with -I<prefix>/include, link with -lmusubi. C11 and later, C++11 and later.
 */
#ifndef MUSUBI_MUSUBI_H
#define MUSUBI_MUSUBI_H

#include <musubi/atomics.h>
#include <musubi/collectives.h>
#include <musubi/job.h>
#include <musubi/memory.h>
#include <musubi/synchronization.h>
#include <stddef.h>
#include <stdint.h>

#endif
