// Filters of pictures: three bytes for each pixel, rows of odd width. Grey, blur by 3 x 3, box, threshold,
// inversion, and a packed bit mask.
#include "textbook.h"

enum { height = 91, width = 101, pixels = height * width, radius = 3 };

typedef struct {
  unsigned char red, green, blue;
} Pixel;

typedef struct {
  Pixel blurred[pixels], inverted[pixels];
  unsigned char grey[pixels], box[pixels], mask[(pixels + 7) / 8];
  bool bright[pixels];
} Results;

static Pixel picture[pixels];
static Results found, expected;

static unsigned char blur_channel(int y, int x, int channel) {
  int sum = 0, count = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (y + dy < 0 || y + dy >= height || x + dx < 0 || x + dx >= width) continue;
      sum += ((const unsigned char*)&picture[(y + dy) * width + x + dx])[channel];
      ++count;
    }
  }
  return (unsigned char)(sum / count);
}

static unsigned char box_at(const unsigned char* grey, int i) {
  int sum = 0;
  for (int k = -radius; k <= radius; ++k) sum += grey[(i + k + pixels) % pixels];
  return (unsigned char)(sum / (2 * radius + 1));
}

static unsigned char grey_of(Pixel p) {
  return (unsigned char)((p.red * 77 + p.green * 151 + p.blue * 28) >> 8);
}

static void filter(Results* to, bool parallel) {
#pragma omp parallel for if (parallel)
  for (int i = 0; i < pixels; ++i) to->grey[i] = grey_of(picture[i]);
#pragma omp parallel for if (parallel) schedule(static, 1)
  for (int i = 0; i < pixels; ++i) {
    to->blurred[i].red = blur_channel(i / width, i % width, 0);
    to->blurred[i].green = blur_channel(i / width, i % width, 1);
    to->blurred[i].blue = blur_channel(i / width, i % width, 2);
  }
#pragma omp parallel for if (parallel) schedule(dynamic, 5)
  for (int i = 0; i < pixels; ++i) to->box[i] = box_at(to->grey, i);
#pragma omp parallel for if (parallel) schedule(static, 3)
  for (int i = 0; i < pixels; ++i) to->bright[i] = to->box[i] > 120;
#pragma omp parallel for if (parallel) schedule(static, 1)
  for (int i = 0; i < pixels; ++i) {
    const Pixel p = picture[i];
    to->inverted[i] =
        (Pixel){(unsigned char)(255 - p.red), (unsigned char)(255 - p.green), (unsigned char)(255 - p.blue)};
  }
#pragma omp parallel for if (parallel) schedule(guided)
  for (int i = 0; i < pixels / 8; ++i) {
    for (int bit = 0; bit < 8; ++bit) to->mask[i] |= (unsigned char)(to->bright[8 * i + bit] << bit);
  }
  // In place, a channel for each iteration.
#pragma omp parallel for if (parallel) collapse(2) schedule(static, 1)
  for (int i = 0; i < pixels; ++i) {
    for (int channel = 0; channel < 3; ++channel)
      ((unsigned char*)&to->inverted[i])[channel] ^= (unsigned char)(channel + i);
  }
}

int main(void) {
  for (int i = 0; i < pixels; ++i) {
    picture[i].red = (unsigned char)next_random(256);
    picture[i].green = (unsigned char)(i / width * 2);
    picture[i].blue = (unsigned char)(next_random(100) + i % width);
  }
  long wrong = 0;
  filter(&expected, false);
  for (int round = 0; round < 4; ++round) {
    memset(&found, round, sizeof found);
    memset(found.mask, 0, sizeof found.mask);
    filter(&found, true);
    wrong += count_differences(&found, &expected, sizeof found);
  }
  return finish(wrong);
}
