#include "coherence/core/merge.h"

namespace musubi::coherence {

extern const MergeKernels merge_baseline;
#ifdef __x86_64__
extern const MergeKernels merge_avx2;
extern const MergeKernels merge_avx512;
#endif

std::size_t all_merge_kernels(const MergeKernels** kernels, std::size_t max) {
  std::size_t count = 0;
#ifdef __x86_64__
  if (count < max && __builtin_cpu_supports("avx512bw")) kernels[count++] = &merge_avx512;
  if (count < max && __builtin_cpu_supports("avx2")) kernels[count++] = &merge_avx2;
#endif
  if (count < max) kernels[count++] = &merge_baseline;
  return count;
}

const MergeKernels& merge_kernels() {
  const MergeKernels* best = &merge_baseline;
  all_merge_kernels(&best, 1);
  return *best;
}

}  // namespace musubi::coherence
