#include "coherence/core/merge.h"

#define MUSUBI_MERGE_VARIANT merge_avx512
#define MUSUBI_MERGE_NAME "avx512"
#include "coherence/core/merge_kernels.inc"
