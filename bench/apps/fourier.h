// Discrete Fourier transforms of many equally long vectors at once, for ft.c.
#pragma once

#define FOURIER_VECTORS 16
#define FOURIER_LENGTH_MAX 512

// Element i of vector v is at [i * FOURIER_VECTORS + v]: every step works on all vectors alike.
struct fourier_block {
  double real[FOURIER_LENGTH_MAX * FOURIER_VECTORS];
  double imaginary[FOURIER_LENGTH_MAX * FOURIER_VECTORS];
};

// Must be called once, before any thread transforms.
void fourier_prepare(void);

// Transforms the vectors of the block, whose length is a power of two, at least 2. The direction is -1 for
// exp(-2 pi i j k / length), +1 for exp(+2 pi i j k / length). Nothing is scaled. Any thread may call it on
// its own block.
void fourier_transform(int direction, int length, struct fourier_block* block);
