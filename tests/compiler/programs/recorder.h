/* In place of the start object: page and table of src/checks/abi.h, with entries that record their calls.
 *
 * Memory can be guarded: its pages are closed by mprotect as its granules are in the table, and the entries
 * open both. A fault of the program's own code then is an access without a check. It is counted and reported,
 * if the mode promises a check (RECORDER_MODE, a number of abi.h): a store in adsm, each access in udsm. Code
 * of libraries may fault. The program comes before recorder.o in the linker's arguments, and libraries after
 * it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct RecordedCall {
  unsigned entry;
  uintptr_t address;
  uintptr_t bytes;
};

/* Closes the granules that the bytes touch, and forgets the calls recorded. */
void recorder_close(const void* address, size_t bytes);

/* Guards the pages that lie in the bytes, and closes them. Stores open them for stores alone (unwritten.h).
 */
void recorder_guard(const void* address, size_t bytes);

/* Closes all guarded memory, as another thread's synchronisation may. Compiled code knows nothing about it.
 */
void synchronise(void);

/* The calls since then, in order. Each has opened its granules; one of OVERWRITE has filled its bytes with
 * garbage first. */
extern struct RecordedCall recorder_calls[4096];
extern unsigned recorder_count;

/* Accesses without a check. With some, the program ends with status 1. */
extern unsigned recorder_missed;

#ifdef __cplusplus
}
#endif
