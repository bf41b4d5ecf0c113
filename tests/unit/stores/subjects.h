// Functions as compilers make regions of them, and the widths of the pieces that each leaves whole.
#pragma once

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

struct node {
  long length;
  short mark;
  char kind;
};
struct point {
  int x, y;
};
struct __attribute__((packed)) packed_number {
  char tag;
  int number;
};
// As an object that holds arrays.
struct holder {
  int* ints;
  char* chars;
  long count;
};

// The argument of a region.
struct record {
  int* ints;
  long* longs;
  double* doubles;
  char* chars;
  struct node* nodes;
  struct point* points;
  struct packed_number* packed;
  struct holder* holder;
  const int* order;
  struct record* other;
  void (*function)(struct record*);
  int count;
  bool changed;
};

struct subject {
  const char* name;
  void (*function)(struct record*);
  unsigned level;
  unsigned ints, longs, chars;  // widest piece left whole in these arrays
};

struct statics {
  const void *flag, *table, *lengths;
};

// A table for each level of optimisation; ends with a null name.
extern const struct subject subjects_0[], subjects_1[], subjects_2[], subjects_3[];
extern const struct statics statics_0, statics_1, statics_2, statics_3;

static inline const struct statics* statics_of(unsigned level) {
  const struct statics* const all[] = {&statics_0, &statics_1, &statics_2, &statics_3};
  return all[level];
}

#ifdef __cplusplus
}
#endif
