/* Checks as a compiler makes them (src/checks/abi.h), written by hand in C or C++. */
#ifndef MUSUBI_TESTS_CHECKS_BY_HAND_H
#define MUSUBI_TESTS_CHECKS_BY_HAND_H

#include "../../src/checks/abi.h"

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

/* The note of an object; numbers, and why it is not complete: "" where it is. */
#define NOTE_OF(contract, granule_shift, mode, complete, why) \
  __asm__(".pushsection " MUSUBI_CHECKS_NOTE_SECTION ", \"a\", @note\n"                      \
          ".p2align 2\n"                                                                     \
          ".long 7, 2f - 1f, 1\n"                                                            \
          ".asciz \"" MUSUBI_CHECKS_NOTE_NAME "\"\n"                                         \
          ".p2align 2\n"                                                                     \
          "1: .long " TEXT(contract) ", " TEXT(granule_shift) ", " TEXT(mode) ", " TEXT(complete) "\n" \
          ".asciz \"" why "\"\n"                                                             \
          "2: .p2align 2\n"                                                                  \
          ".popsection")
#define NOTE(contract, granule_shift, mode) NOTE_OF(contract, granule_shift, mode, 1, "")

/* Calls entry number `entry`, a constant. */
#define CALL_ENTRY(entry, address, bytes)                                                    \
  __asm__ volatile("sub $128, %%rsp; call *%c[place]; add $128, %%rsp"                       \
                   :                                                                         \
                   : "D"(address), "S"(bytes), [place] "i"(MUSUBI_CHECKS_PAGE + 8 * (entry)) \
                   : "r11", "cc", "memory")

#endif
