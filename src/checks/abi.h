/* The contract between checked code and the runtime, read by both sides (compiler/ and src/); C, C++ and the
 * assembler include it. Paper CC, section 3, with a table of states at a fixed address in place of the
 * paper's bound check.
 *
 * The table holds one byte for each granule of the user address space, at MUSUBI_CHECKS_TABLE + (address >>
 * granule_shift). A byte of 0 means that any access is allowed: private memory always reads 0. Code that is
 * about to read (write) tests the bit NOT_READABLE (NOT_WRITABLE) and calls an entry if it is set. Code may
 * test any user address below 2^47, also one that it will not touch.
 *
 * A block may be open for stores alone: its bytes are not here, and it is full of the word UNWRITTEN, by
 * which the runtime knows what has been stored. Code that is about to store an aligned value of 4 or 8 bytes
 * may test NOT_STORABLE, and call ENTRY_STORE, in place of NOT_WRITABLE and ENTRY_WRITE; but if one of the
 * aligned words of 4 bytes in the value is UNWRITTEN, it calls ENTRY_WRITE before the store. All other stores
 * need NOT_WRITABLE to be clear. A granule that is writable is storable.
 *
 * One page at MUSUBI_CHECKS_PAGE holds the entries: `call *(MUSUBI_CHECKS_PAGE + 8 * ENTRY)` needs no symbol
 * and no linker. An entry takes its arguments in rdi and rsi, returns nothing and preserves all registers
 * but r11 and the flags, vector registers included. It returns when the access is allowed, or at once if the
 * memory is not shared. It may be called by any thread, also in a handler of signals. It blocks.
 *
 * The runtime maps page and table before the program's constructors. Without a runtime, the start object
 * that the compiler's wrapper links maps a table of zeros, and entries that return. */
#ifndef MUSUBI_CHECKS_ABI_H
#define MUSUBI_CHECKS_ABI_H

/* Raised when code and a runtime of different numbers would misunderstand each other. */
#define MUSUBI_CHECKS_ABI 2

#define MUSUBI_CHECKS_PAGE 0x6ffff000
#define MUSUBI_CHECKS_TABLE 0x70000000
#define MUSUBI_CHECKS_ADDRESS_BITS 47

/* Bits of a state. */
#define MUSUBI_CHECKS_NOT_READABLE 1
#define MUSUBI_CHECKS_NOT_WRITABLE 2
#define MUSUBI_CHECKS_NOT_STORABLE 4

/* Two of them are a double that no arithmetic gives, and one is such a float: NaNs. */
#define MUSUBI_CHECKS_UNWRITTEN 0xfff5fff5u

/* log2 of a granule's bytes, one for all objects of a process. */
#define MUSUBI_CHECKS_GRANULE_SHIFT_MIN 6
#define MUSUBI_CHECKS_GRANULE_SHIFT_MAX 12

/* Entries by number. Ranges are (address, bytes) and may be empty. */
#define MUSUBI_CHECKS_ENTRY_READ 0       /* (address): one granule becomes readable */
#define MUSUBI_CHECKS_ENTRY_WRITE 1      /* (address): one granule becomes writable */
#define MUSUBI_CHECKS_ENTRY_READ_RANGE 2 /* a hint in hint mode, a check elsewhere */
#define MUSUBI_CHECKS_ENTRY_WRITE_RANGE 3
#define MUSUBI_CHECKS_ENTRY_OVERWRITE 4 /* every byte will be written before it is read */
#define MUSUBI_CHECKS_ENTRY_WRITTEN 5   /* will not be written again before the next synchronisation */
#define MUSUBI_CHECKS_ENTRY_STORE 6     /* (address): one granule becomes storable */
#define MUSUBI_CHECKS_ENTRIES 16        /* room; those without a name end the program */

/* Offsets in the page, after the entries. */
#define MUSUBI_CHECKS_PAGE_MAGIC 128         /* 8 bytes: MUSUBI_CHECKS_MAGIC */
#define MUSUBI_CHECKS_PAGE_ABI 136           /* 4 bytes: MUSUBI_CHECKS_ABI */
#define MUSUBI_CHECKS_PAGE_GRANULE_SHIFT 140 /* 4 bytes */
#define MUSUBI_CHECKS_MAGIC 0x69627573754d0a01

/* The note of each object of checked code: section .note.musubi.checks, name "Musubi", this type. Its
 * descriptor has four words of 4 bytes, MUSUBI_CHECKS_ABI, granule shift, mode, complete (0, 1), and texts
 * that end with 0: why the object is not complete, with file and line, or empty; pairs of a name and a place,
 * and an empty text; names, and an empty text. An object of mode adsm (udsm) is complete if no store (no load
 * or store) of its code goes unchecked. The pairs are functions of other objects that it hands pointers to,
 * the runtime's excepted, or that may be called by pointer. The names are those of functions in it that other
 * objects may call. In mode hint none is complete. */
#define MUSUBI_CHECKS_NOTE_SECTION ".note.musubi.checks"
#define MUSUBI_CHECKS_NOTE_NAME "Musubi"
#define MUSUBI_CHECKS_NOTE_TYPE 1

/* Each atomic instruction whose source orders nothing but its own word (memory_order_relaxed, `omp atomic`
 * without a clause): its distance of 4 bytes from the distance's own address. May name other instructions. */
#define MUSUBI_CHECKS_RELAXED_SECTION "musubi_relaxed_atomics"

/* Modes. */
#define MUSUBI_CHECKS_HINT 1 /* ranges before loops; pages catch what they miss */
#define MUSUBI_CHECKS_ADSM 2 /* and each store */
#define MUSUBI_CHECKS_UDSM 3 /* and each load */

#endif
