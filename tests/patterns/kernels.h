// Loops over a range of iterations, built by another compiler than the regions that call them: kernels.c.
#pragma once

// name, bytes of an iteration, alignment
#define PATTERN_KERNELS(KERNEL) \
  KERNEL(points, 8, 4)          \
  KERNEL(odd_points, 12, 4)     \
  KERNEL(fives, 5, 1)           \
  KERNEL(sixteens, 16, 1)       \
  KERNEL(seventeens, 17, 1)     \
  KERNEL(thirties, 30, 2)       \
  KERNEL(tagged, 5, 1)          \
  KERNEL(chars, 1, 1)           \
  KERNEL(thirds, 3, 1)          \
  KERNEL(shorts, 2, 2)          \
  KERNEL(ints, 4, 4)            \
  KERNEL(bools, 1, 1)           \
  KERNEL(rows, 11, 1)           \
  KERNEL(cleared_rows, 6, 1)    \
  KERNEL(swapped, 4, 2)         \
  KERNEL(bits, 4, 4)            \
  KERNEL(vectors, 19, 1)        \
  KERNEL(wide_vectors, 33, 1)   \
  KERNEL(same_marks, 1, 1)

#ifdef __cplusplus
#define DECLARE_KERNEL(name, bytes, alignment) \
  extern "C" void name##_kernel(char* base, long begin, long end, unsigned salt);
#else
#define DECLARE_KERNEL(name, bytes, alignment) \
  void name##_kernel(char* base, long begin, long end, unsigned salt);
#endif
PATTERN_KERNELS(DECLARE_KERNEL)
#undef DECLARE_KERNEL
