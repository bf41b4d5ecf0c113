/* In place of the start object: page and table of src/checks/abi.h, with entries that record their calls. */
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

/* The calls since then, in order. Each has opened its granules; one of OVERWRITE has filled its bytes with
 * garbage first. */
extern struct RecordedCall recorder_calls[4096];
extern unsigned recorder_count;

#ifdef __cplusplus
}
#endif
