// Functions as compilers make regions of them, and the narrowest store that each can reach.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// The argument of a region.
struct record {
  int* ints;
  long* longs;
  double* doubles;
  char* chars;
  struct __attribute__((packed)) {
    char tag;
    int number;
  }* packed;
  const int* order;
  struct record* other;
  void (*function)(struct record*);
  int count;
#ifdef __cplusplus
  bool changed;
#else
  _Bool changed;
#endif
};

struct subject {
  const char* name;
  void (*function)(struct record*);
  unsigned bytes;
};

// One table for each level of optimisation; ends with a null name.
extern const struct subject subjects_0[], subjects_1[], subjects_2[], subjects_3[];
extern const void *const flag_0, *const flag_1, *const flag_2, *const flag_3;

#ifdef __cplusplus
}
#endif
