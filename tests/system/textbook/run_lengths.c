// Run lengths of rows: for each row one loop stores a length of 8 bytes, a mark of 2 and the letter, to
// arrays and to structures of these. Then the rows are made again from the runs.
#include "textbook.h"

enum { rows = 3001, width = 40, rounds = 5 };

typedef struct {
  long length;
  short mark;
} Run;

static char text[rows][width], again[rows][width];
static long lengths[rows], expected_lengths[rows];
static short marks[rows], expected_marks[rows];
static char letters[rows], expected_letters[rows];
static Run runs[rows];

// Length of the longest run of the row, and its place.
static long longest(const char* row, short* place) {
  long best = 0, length = 0;
  for (int i = 0; i < width; ++i) {
    length = i > 0 && row[i] == row[i - 1] ? length + 1 : 1;
    if (length <= best) continue;
    best = length;
    *place = (short)(i + 1 - length);
  }
  return best;
}

static void find_runs(long salt) {
#pragma omp parallel for
  for (int r = 0; r < rows; ++r) {
    short place = 0;
    lengths[r] = longest(text[r], &place) * salt;
    marks[r] = (short)(place + salt);
    letters[r] = text[r][place];
  }
#pragma omp parallel for schedule(static, 1)
  for (int r = 0; r < rows; ++r) {
    short place = 0;
    runs[r].length = longest(text[r], &place) * salt;
    runs[r].mark = (short)(place + salt);
  }
}

static void unpack(long salt) {
#pragma omp parallel for schedule(static, 1)
  for (int r = 0; r < rows; ++r) memset(again[r] + marks[r] - salt, letters[r], (size_t)(lengths[r] / salt));
}

int main(void) {
  long wrong = 0;
  for (int round = 1; round <= rounds; ++round) {
    const long salt = 1000003l * round * round % 4001 + 1;
    for (int i = 0; i < rows * width; ++i) text[i / width][i % width] = (char)('a' + next_random(3));
    for (int r = 0; r < rows; ++r) {
      short place = 0;
      expected_lengths[r] = longest(text[r], &place) * salt;
      expected_marks[r] = (short)(place + salt);
      expected_letters[r] = text[r][place];
    }
    memset(again, 0, sizeof again);
    find_runs(salt);
    wrong += count_differences(lengths, expected_lengths, sizeof lengths);
    wrong += count_differences(marks, expected_marks, sizeof marks);
    wrong += count_differences(letters, expected_letters, sizeof letters);
    for (int r = 0; r < rows; ++r)
      wrong += runs[r].length != expected_lengths[r] || runs[r].mark != expected_marks[r];
    unpack(salt);
    for (int i = 0; i < rows * width; ++i) {
      const int r = i / width, k = i % width, place = (int)(expected_marks[r] - salt);
      const bool inside = k >= place && k < place + expected_lengths[r] / salt;
      wrong += again[r][k] != (inside ? expected_letters[r] : 0);
    }
  }
  return finish(wrong);
}
