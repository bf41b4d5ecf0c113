// Work on text in place: small letters, reversed words, a cipher, fields of fixed width, counts of words.
#include "textbook.h"

enum { letters = 60000, words_max = letters, record = 7 };

static char text[letters + 1], expected[letters + 1];
static int begins[words_max];
static unsigned char lengths[words_max], expected_lengths[words_max];
static char names[words_max / 4][record], expected_names[words_max / 4][record];

static char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? (char)(letter + 32) : letter;
}
static char turned(char letter) {
  return letter >= 'a' && letter <= 'z' ? (char)('a' + (letter - 'a' + 13) % 26) : letter;
}
static bool in_word(char letter) {
  return letter != ' ';
}

static void reverse(char* word, int length) {
  for (int i = 0, k = length - 1; i < k; ++i, --k) {
    const char letter = word[i];
    word[i] = word[k];
    word[k] = letter;
  }
}

static unsigned char length_at(const char* word) {
  unsigned char length = 0;
  while (in_word(word[length]) && word[length] != 0) ++length;
  return length;
}

static void name_word(char* name, int i) {
  snprintf(name, record, "%c%u", 'a' + i % 26, (unsigned)i % 100000u);
}

static int make_text(void) {
  int words = 0;
  for (int i = 0; i < letters; ++i) {
    text[i] = i > 0 && text[i - 1] != ' ' && next_random(5) == 0
                  ? ' '
                  : (char)('A' + 32 * next_random(2) + next_random(26));
    if (in_word(text[i]) && (i == 0 || !in_word(text[i - 1])) && words < words_max) begins[words++] = i;
  }
  return words;
}

static void change(char* to, unsigned char* length, char (*name)[record], int words, bool parallel) {
#pragma omp parallel for if (parallel)
  for (int i = 0; i < letters; ++i) to[i] = lower(to[i]);
#pragma omp parallel for if (parallel) schedule(dynamic, 3)
  for (int w = 0; w < words; ++w) length[w] = length_at(to + begins[w]);
#pragma omp parallel for if (parallel) schedule(static, 1)
  for (int w = 0; w < words; ++w) reverse(to + begins[w], length[w]);
#pragma omp parallel for if (parallel) schedule(static, 1)
  for (int i = 0; i < letters; ++i) to[i] = turned(to[i]);
#pragma omp parallel for if (parallel) schedule(static, 1)
  for (int w = 0; w < words / 4; ++w) name_word(name[w], w);
    // Only the first letter of each word: the rest stays.
#pragma omp parallel for if (parallel) schedule(guided)
  for (int w = 0; w < words; ++w) to[begins[w]] = (char)(to[begins[w]] - 32);
}

int main(void) {
  const int words = make_text();
  memcpy(expected, text, sizeof text);
  change(expected, expected_lengths, expected_names, words, false);
  change(text, lengths, names, words, true);
  long wrong = count_differences(text, expected, sizeof text);
  wrong += count_differences(lengths, expected_lengths, sizeof lengths);
  wrong += count_differences(names, expected_names, sizeof names);
  return finish(wrong);
}
