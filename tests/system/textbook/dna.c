// Strings of DNA: packed four letters to a byte, complemented, unpacked; and marks of the words of six
// letters that occur, each of which many places set.
#include "textbook.h"

enum { letters = 80004, packed_bytes = letters / 4, word = 6, words = 1 << 2 * word };

static char strand[letters], complement[letters], unpacked[letters], expected_complement[letters];
static unsigned char packed[packed_bytes], expected_packed[packed_bytes];
static char occurs[words], expected_occurs[words];

static unsigned code_of(char letter) {
  return letter == 'a' ? 0 : letter == 'c' ? 1 : letter == 'g' ? 2 : 3;
}

static unsigned char pack(int i) {
  unsigned char bits = 0;
  for (int k = 0; k < 4; ++k) bits |= (unsigned char)(code_of(strand[4 * i + k]) << 2 * k);
  return bits;
}

static unsigned word_at(int i) {
  unsigned bits = 0;
  for (int k = 0; k < word; ++k) bits = bits << 2 | code_of(strand[i + k]);
  return bits;
}

int main(void) {
  for (int i = 0; i < letters; ++i) strand[i] = "acgt"[next_random(4) & next_random(8)];
  for (int i = 0; i < packed_bytes; ++i) expected_packed[i] = pack(i);
  for (int i = 0; i < letters; ++i) expected_complement[letters - 1 - i] = "tgca"[code_of(strand[i])];
  for (int i = 0; i + word <= letters; ++i) expected_occurs[word_at(i)] = 1;

#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < packed_bytes; ++i) packed[i] = pack(i);
#pragma omp parallel for
  for (int i = 0; i < letters; ++i) complement[letters - 1 - i] = "tgca"[code_of(strand[i])];
#pragma omp parallel for schedule(guided)
  for (int i = 0; i < letters; ++i) unpacked[i] = "acgt"[packed[i / 4] >> 2 * (i % 4) & 3];
#pragma omp parallel for
  for (int i = 0; i <= letters - word; ++i) occurs[word_at(i)] = 1;

  long wrong = count_differences(packed, expected_packed, sizeof packed);
  wrong += count_differences(complement, expected_complement, sizeof complement);
  wrong += count_differences(unpacked, strand, sizeof strand);
  wrong += count_differences(occurs, expected_occurs, sizeof occurs);
  return finish(wrong);
}
