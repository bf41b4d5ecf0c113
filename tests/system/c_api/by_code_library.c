/* A library whose note says that code checks all of its accesses (COMPLETE 1), or not (0). */
#include "../checks_by_hand.h"

NOTE_OF(MUSUBI_CHECKS_ABI, 6, MUSUBI_CHECKS_UDSM, COMPLETE, "library.c:3: assembly");
