// Without OpenMP: any compiler may build these, whichever runs the regions.
#include "kernels.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MAY_ALIAS __attribute__((may_alias))
#define KERNEL(name) void name##_kernel(char* base, long begin, long end, unsigned salt)
#define FOR_RANGE for (long i = begin; i < end; ++i)

typedef struct MAY_ALIAS {
  int x, y;
} Point;
typedef struct MAY_ALIAS {
  unsigned char bytes[5];
} Five;
typedef struct MAY_ALIAS {
  unsigned char bytes[16];
} Sixteen;
typedef struct MAY_ALIAS {
  unsigned char bytes[17];
} Seventeen;
typedef struct MAY_ALIAS {
  short parts[15];
} Thirty;
typedef struct __attribute__((packed, may_alias)) {
  char tag;
  int value;
} Tagged;
typedef struct MAY_ALIAS {
  uint32_t low : 9, middle : 16, high : 7;
} Bits;
typedef int16_t MAY_ALIAS Short;
typedef int32_t MAY_ALIAS Int;
typedef uint8_t Vector __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint8_t WideVector __attribute__((vector_size(32), aligned(1), may_alias));

static unsigned mixed(long i, unsigned salt) {
  return ((unsigned)i + salt) * 2654435761u;
}

KERNEL(points) {
  FOR_RANGE((Point*)base)[i] = (Point){(int)mixed(i, salt), (int)mixed(i + 1, salt)};
}

// Also after a number that is written.
KERNEL(odd_points) {
  FOR_RANGE {
    ((Int*)base)[3 * i] = (int)i;
    *(Point*)(base + 12 * i + 4) = (Point){0, (int)(salt & 1)};
  }
}

KERNEL(fives) {
  FOR_RANGE {
    Five made;
    for (int k = 0; k < 5; ++k) made.bytes[k] = (unsigned char)(i * k + (long)salt);
    ((Five*)base)[i] = made;
  }
}

KERNEL(sixteens) {
  FOR_RANGE {
    const uint64_t halves[2] = {mixed(i, salt) * 0x9e3779b97f4a7c15u, ~(uint64_t)i};
    memcpy((Sixteen*)base + i, halves, sizeof halves);
  }
}

KERNEL(seventeens) {
  Seventeen made;
  FOR_RANGE {
    memset(&made, (int)(i + salt), sizeof made);
    made.bytes[16] = (unsigned char)salt;
    ((Seventeen*)base)[i] = made;
  }
}

KERNEL(thirties) {
  FOR_RANGE {
    Thirty* const to = (Thirty*)base + i;
    for (int k = 0; k < 15; ++k) to->parts[k] = (short)(k * 1000 + i + (long)salt);
  }
}

KERNEL(tagged) {
  FOR_RANGE {
    Tagged* const to = (Tagged*)base + i;
    to->tag = (char)i;
    to->value = (int)mixed(i, salt);
  }
}

KERNEL(chars) {
  FOR_RANGE base[i] = (char)(i * 3 + (long)salt);
}

KERNEL(thirds) {
  FOR_RANGE base[3 * i + 1] = (char)(i ^ (long)salt);
}

KERNEL(shorts) {
  FOR_RANGE((Short*)base)[i] = (int16_t)(i * 77 + (long)salt);
}

KERNEL(ints) {
  FOR_RANGE((Int*)base)[i] = (int)((unsigned)i * 99 + salt);
}

KERNEL(bools) {
  FOR_RANGE((bool*)base)[i] = (mixed(i, salt) & 0x100000) != 0;
}

KERNEL(rows) {
  FOR_RANGE {
    for (int k = 0; k < 11; ++k) base[11 * i + k] = (char)(k * 5 + i + (long)salt);
  }
}

KERNEL(cleared_rows) {
  FOR_RANGE memset(base + 6 * i, 0, 6 - (salt + (unsigned long)i) % 3);
}

KERNEL(swapped) {
  FOR_RANGE {
    Short* const pair = (Short*)base + 2 * i;
    const Short first = pair[0];
    pair[0] = (Short)(pair[1] ^ (Short)salt);
    pair[1] = first;
  }
}

KERNEL(bits) {
  FOR_RANGE {
    Bits* const to = (Bits*)base + i;
    to->middle = mixed(i, salt) & 0xffff;
    if (i % 3 == 0) to->high = salt & 127;
  }
}

KERNEL(vectors) {
  FOR_RANGE {
    Vector made = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    made *= (uint8_t)(i + salt);
    *(Vector*)(base + 19 * i) = made;
  }
}

KERNEL(wide_vectors) {
  FOR_RANGE {
    WideVector made = {0};
    made += (uint8_t)(i + salt);
    made[i & 31] = 1;
    *(WideVector*)(base + 33 * i) = made;
  }
}

// Three iterations for each mark.
KERNEL(same_marks) {
  FOR_RANGE base[i / 3 * 2] = (char)(salt + 1);
}
