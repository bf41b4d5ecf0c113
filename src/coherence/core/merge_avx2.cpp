#include <immintrin.h>  // its functions are always inlined: no copy of them reaches the linker

#include "coherence/core/merge.h"

namespace musubi::coherence {
namespace {

typedef unsigned char Vector __attribute__((vector_size(32)));
typedef signed char Mask __attribute__((vector_size(32)));

inline bool any(const Vector& value) {
  const __m256i bits = reinterpret_cast<const __m256i&>(value);
  return _mm256_testz_si256(bits, bits) == 0;
}

}  // namespace
}  // namespace musubi::coherence

#define MUSUBI_MERGE_VARIANT merge_avx2
#define MUSUBI_MERGE_NAME "avx2"
#include "coherence/core/merge_kernels.inc"
