#include "coherence/core/merge.h"

#define MUSUBI_MERGE_VARIANT merge_baseline
#define MUSUBI_MERGE_NAME "baseline"
#include "coherence/core/merge_kernels.inc"
