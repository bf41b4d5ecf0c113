#include "coherence/core/merge.h"

namespace musubi::coherence {
namespace {

typedef unsigned char Vector __attribute__((vector_size(16)));
typedef signed char Mask __attribute__((vector_size(16)));

inline bool any(const Vector& value) {
  typedef unsigned long long Words __attribute__((vector_size(16)));
  const Words words = reinterpret_cast<const Words&>(value);
  return (words[0] | words[1]) != 0;
}

}  // namespace
}  // namespace musubi::coherence

#define MUSUBI_MERGE_VARIANT merge_baseline
#define MUSUBI_MERGE_NAME "baseline"
#include "coherence/core/merge_kernels.inc"
