// Tricks on bits of bytes: counts, reversal, parity, Gray codes, pairs of nibbles, flags in structures of
// bits.
#include "textbook.h"

enum { count = 40001 };

typedef struct {
  unsigned char low : 3, high : 5;
  unsigned char kind : 2, rest : 6;
} Flags;

typedef struct {
  unsigned char ones[count], reversed[count], gray[count], nibbles[count];
  bool parity[count];
  Flags flags[count];
  unsigned short spread[count];
} Tables;

static unsigned char input[2 * count];
static Tables found, expected;

static unsigned char reverse(unsigned char byte) {
  byte = (unsigned char)(byte >> 4 | byte << 4);
  byte = (unsigned char)((byte & 0xcc) >> 2 | (byte & 0x33) << 2);
  return (unsigned char)((byte & 0xaa) >> 1 | (byte & 0x55) << 1);
}

static unsigned char ones_of(unsigned char byte) {
  unsigned char ones = 0;
  for (; byte != 0; byte &= (unsigned char)(byte - 1)) ++ones;
  return ones;
}

static unsigned short spread(unsigned char byte) {
  unsigned short bits = 0;
  for (int bit = 0; bit < 8; ++bit) bits |= (unsigned short)((byte >> bit & 1) << 2 * bit);
  return bits;
}

static void fill(Tables* to, bool parallel) {
#pragma omp parallel for if (parallel)
  for (int i = 0; i < count; ++i) {
    to->ones[i] = ones_of(input[i]);
    to->parity[i] = to->ones[i] & 1;
  }
#pragma omp parallel for if (parallel) schedule(static, 1)
  for (int i = 0; i < count; ++i) to->reversed[i] = reverse(input[i]);
#pragma omp parallel for if (parallel) schedule(static, 3)
  for (int i = 0; i < count; ++i) to->gray[i] = (unsigned char)(input[i] ^ input[i] >> 1);
#pragma omp parallel for if (parallel) schedule(dynamic, 11)
  for (int i = 0; i < count; ++i) to->nibbles[i] = (unsigned char)(input[2 * i] << 4 | input[2 * i + 1] >> 4);
    // Bit-fields of one byte belong to one iteration, those of the next to another.
#pragma omp parallel for if (parallel) schedule(static, 1)
  for (int i = 0; i < count; ++i) {
    to->flags[i].low = input[i] & 7;
    to->flags[i].high = input[i] >> 3;
    to->flags[i].kind = input[i + 1] & 3;
  }
#pragma omp parallel for if (parallel) schedule(static, 1)
  for (int i = 0; i < count; ++i) to->spread[i] = spread(input[i]);
#pragma omp parallel for if (parallel)
  for (int i = 0; i < count; i += 2) to->gray[i] ^= to->nibbles[i];
}

int main(void) {
  for (int i = 0; i < 2 * count; ++i) input[i] = (unsigned char)next_random(256);
  fill(&expected, false);
  fill(&found, true);
  return finish(count_differences(&found, &expected, sizeof found));
}
