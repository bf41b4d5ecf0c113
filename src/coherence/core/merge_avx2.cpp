#include "coherence/core/merge.h"

#define MUSUBI_MERGE_VARIANT merge_avx2
#define MUSUBI_MERGE_NAME "avx2"
#include "coherence/core/merge_kernels.inc"
