// A library with a note of compiled checks, whose granule is a macro.
#include "../checks_by_hand.h"

NOTE(MUSUBI_CHECKS_ABI, GRANULE_SHIFT, MUSUBI_CHECKS_HINT);

int checked_library(void) {
  return GRANULE_SHIFT;
}
