// FT, the three-dimensional Fourier transform kernel of the NAS Parallel Benchmarks, written from its
// specification (Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, section 2.7): the heat equation on
// a periodic box, solved in the frequency domain and transformed back after every time step. Class W is the
// one of the published implementations (128 x 128 x 32 points, 6 steps). Usage: ft [S|W|A|B]. The exit status
// is 0 only when the checksums of all steps match the published ones.

#include "fourier.h"
#include "ft_problems.h"
#include "nas.h"

#define CLASSES "SWAB"
#define DIFFUSION 1e-6
#define CHECKSUM_POINTS 1024

struct complex_value {
  double real, imaginary;
};

static const struct ft_problem* problem;
static int width, height, depth;  // points in x, y and z; x runs fastest in memory
static struct complex_value* spectrum;
static struct complex_value* half_way;  // transformed back in z alone
static struct complex_value* solution;
// The decay of a frequency is a product of one factor for each dimension.
static double decay_x[FOURIER_LENGTH_MAX], decay_y[FOURIER_LENGTH_MAX], decay_z[FOURIER_LENGTH_MAX];
static double checksum_real, checksum_imaginary;
static double checksums[FT_STEPS_MAX][2];

static struct fourier_block block;
#pragma omp threadprivate(block)

// Vectors at `from`, adjacent to each other, their elements `apart`.
static void load(const struct complex_value* from, size_t apart, int length) {
  for (int i = 0; i < length; i++) {
    for (int v = 0; v < FOURIER_VECTORS; v++) {
      block.real[i * FOURIER_VECTORS + v] = from[(size_t)i * apart + (size_t)v].real;
      block.imaginary[i * FOURIER_VECTORS + v] = from[(size_t)i * apart + (size_t)v].imaginary;
    }
  }
}

static void store(struct complex_value* to, size_t apart, int length) {
  for (int i = 0; i < length; i++) {
    for (int v = 0; v < FOURIER_VECTORS; v++) {
      to[(size_t)i * apart + (size_t)v].real = block.real[i * FOURIER_VECTORS + v];
      to[(size_t)i * apart + (size_t)v].imaginary = block.imaginary[i * FOURIER_VECTORS + v];
    }
  }
}

// Transforms a plane in x, in place: its rows run along the vectors and are transposed on the way.
static void transform_rows(int direction, struct complex_value* plane) {
  for (int y = 0; y < height; y += FOURIER_VECTORS) {
    struct complex_value* rows = plane + (size_t)y * (size_t)width;
    for (int v = 0; v < FOURIER_VECTORS; v++) {
      for (int x = 0; x < width; x++) {
        block.real[x * FOURIER_VECTORS + v] = rows[v * width + x].real;
        block.imaginary[x * FOURIER_VECTORS + v] = rows[v * width + x].imaginary;
      }
    }
    fourier_transform(direction, width, &block);
    for (int v = 0; v < FOURIER_VECTORS; v++) {
      for (int x = 0; x < width; x++) {
        rows[v * width + x].real = block.real[x * FOURIER_VECTORS + v];
        rows[v * width + x].imaginary = block.imaginary[x * FOURIER_VECTORS + v];
      }
    }
  }
}

static void transform_columns(int direction, const struct complex_value* from, struct complex_value* to) {
  for (int x = 0; x < width; x += FOURIER_VECTORS) {
    load(from + x, (size_t)width, height);
    fourier_transform(direction, height, &block);
    store(to + x, (size_t)width, height);
  }
}

// Two random numbers for each point, in the order of memory.
static void create_plane(int z) {
  const size_t size = (size_t)width * (size_t)height;
  struct complex_value* plane = solution + (size_t)z * size;
  uint64_t state = nas_multiply(NAS_SEED, nas_power(NAS_MULTIPLIER, 2 * (uint64_t)z * size));
  for (size_t i = 0; i < size; i++) {
    plane[i].real = nas_random(&state);
    plane[i].imaginary = nas_random(&state);
  }
}

// The spectrum at time 0. Planes of equal z are transformed in x and y, then planes of equal y in z.
static void transform_forth(void) {
  const size_t plane = (size_t)width * (size_t)height;
#pragma omp for schedule(static)
  for (int z = 0; z < depth; z++) {
    create_plane(z);
    transform_rows(-1, solution + (size_t)z * plane);
    transform_columns(-1, solution + (size_t)z * plane, solution + (size_t)z * plane);
  }
#pragma omp for schedule(static)
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x += FOURIER_VECTORS) {
      const size_t first = (size_t)y * (size_t)width + (size_t)x;
      load(solution + first, plane, depth);
      fourier_transform(-1, depth, &block);
      store(spectrum + first, plane, depth);
    }
  }
}

static void compute_decay(double* decay, int length, int step) {
  const double pi = acos(-1.0);
  for (int i = 0; i < length; i++) {
    const double frequency = i < length / 2 ? i : i - length;
    decay[i] = exp(-4.0 * DIFFUSION * pi * pi * frequency * frequency * step);
  }
}

static void decay_block(int x, double decay) {
  for (int z = 0; z < depth; z++) {
    const double decay_yz = decay * decay_z[z];
    for (int v = 0; v < FOURIER_VECTORS; v++) {
      const double factor = decay_yz * decay_x[x + v];
      block.real[z * FOURIER_VECTORS + v] *= factor;
      block.imaginary[z * FOURIER_VECTORS + v] *= factor;
    }
  }
}

static void add_to_checksum(int z, double* real, double* imaginary) {
  for (int j = 1; j <= CHECKSUM_POINTS; j++) {
    if (5 * j % depth != z) continue;
    const size_t row = (size_t)z * (size_t)height + (size_t)(3 * j % height);
    const struct complex_value value = solution[row * (size_t)width + (size_t)(j % width)];
    *real += value.real;
    *imaginary += value.imaginary;
  }
}

// The solution after a time step, and its checksum, by the whole team.
static void transform_back(int step) {
  const size_t plane = (size_t)width * (size_t)height;
#pragma omp single
  {
    compute_decay(decay_x, width, step);
    compute_decay(decay_y, height, step);
    compute_decay(decay_z, depth, step);
    checksum_real = 0.0;
    checksum_imaginary = 0.0;
  }
#pragma omp for schedule(static)
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x += FOURIER_VECTORS) {
      const size_t first = (size_t)y * (size_t)width + (size_t)x;
      load(spectrum + first, plane, depth);
      decay_block(x, decay_y[y]);
      fourier_transform(1, depth, &block);
      store(half_way + first, plane, depth);
    }
  }
#pragma omp for schedule(static) reduction(+ : checksum_real, checksum_imaginary)
  for (int z = 0; z < depth; z++) {
    transform_columns(1, half_way + (size_t)z * plane, solution + (size_t)z * plane);
    transform_rows(1, solution + (size_t)z * plane);
    add_to_checksum(z, &checksum_real, &checksum_imaginary);
  }
#pragma omp single
  {
    const double count = (double)plane * depth;
    checksums[step - 1][0] = checksum_real / count;
    checksums[step - 1][1] = checksum_imaginary / count;
  }
}

static int verify(void) {
  int verified = 1;
  for (int step = 0; step < problem->steps; step++) {
    const double* expected = problem->checksums[step];
    const double error = hypot(checksums[step][0] - expected[0], checksums[step][1] - expected[1]);
    const int matches = error <= 1e-12 * hypot(expected[0], expected[1]);
    printf("step %d: checksum %.12e %.12e%s\n", step + 1, checksums[step][0], checksums[step][1],
           matches ? "" : ", wrong");
    verified &= matches;
  }
  return verified;
}

int main(int argc, char** argv) {
  const size_t choice = nas_class(argc, argv, "ft", CLASSES);
  problem = &ft_problems[choice];
  width = problem->width;
  height = problem->height;
  depth = problem->depth;
  const size_t count = (size_t)width * (size_t)height * (size_t)depth;
  spectrum = nas_allocate(count, sizeof *spectrum);
  half_way = nas_allocate(count, sizeof *half_way);
  solution = nas_allocate(count, sizeof *solution);
  fourier_prepare();

  double start = 0.0;
#pragma omp parallel
  {
    transform_forth();
    transform_back(1);  // untimed so far: touches all memory
#pragma omp single
    start = omp_get_wtime();
    transform_forth();
    for (int step = 1; step <= problem->steps; step++) transform_back(step);
  }
  const double seconds = omp_get_wtime() - start;

  printf("FT class %c, %d x %d x %d points, %d steps, %d threads\n", CLASSES[choice], width, height, depth,
         problem->steps, omp_get_max_threads());
  const int verified = verify();
  // Each transform counts 5 N log2 N, each decay 6 N.
  const double operations =
      (double)count * (5.0 * log2((double)count) * (problem->steps + 1) + 6.0 * problem->steps);
  return nas_finish(verified, seconds, operations);
}
