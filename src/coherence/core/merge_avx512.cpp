#include <immintrin.h>  // its functions are always inlined: no copy of them reaches the linker

#include "coherence/core/merge.h"

namespace musubi::coherence {
namespace {

typedef unsigned char Vector __attribute__((vector_size(64)));
typedef signed char Mask __attribute__((vector_size(64)));

inline bool any(const Vector& value) {
  const __m512i bits = reinterpret_cast<const __m512i&>(value);
  return _mm512_test_epi64_mask(bits, bits) != 0;
}

}  // namespace
}  // namespace musubi::coherence

#define MUSUBI_MERGE_VARIANT merge_avx512
#define MUSUBI_MERGE_NAME "avx512"
#include "coherence/core/merge_kernels.inc"
