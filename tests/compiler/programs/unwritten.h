/* Guarded memory that is open for stores alone, as home-only memory is: a granule is full of the word
 * UNWRITTEN, its bytes are kept elsewhere, and its pages are open. An access that the contract forbids shows
 * in a value. The caller holds the guard's lock. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Room for the bytes of a region. */
char* unwritten_room(size_t bytes);

/* Opens the granule for stores alone. Result: 0 if it is readable, or its region has no room. */
int unwritten_open(uintptr_t address);

/* Opens granules whole that the bytes touch and that are open for stores alone: words that have not been
 * stored get their bytes back. */
void unwritten_fetch(uintptr_t address, size_t bytes);
