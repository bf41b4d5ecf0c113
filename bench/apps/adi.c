// ADI, a block-tridiagonal solver after the BT application of the NAS Parallel Benchmarks, written from its
// specification (Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, sections 3.2 to 3.4): the
// compressible Navier-Stokes equations, forced towards a known solution, in steps of approximate
// factorization. Each step solves systems of 5x5 blocks along all lines in x, then in y, then in z. The
// equations, the sizes, the steps and the published norms are BT's (class W is the one of the published
// implementations). Usage: adi [S|W|A|B] [inner]. With `inner`, the threads share the loops over the lines of
// each plane, plane by plane: many small loops, and all threads write parts of the same blocks. The exit
// status is 0 only when the norms of the residual and of the error match.

#include "adi.h"

#include "nas.h"

#define CLASSES "SWAB"

struct problem {
  int points, steps;
  double step;
  adi_variables residual, error;
};

static const struct problem problems[] = {
    {12,
     60,
     0.010,
     {1.7034283709541311e-01, 1.2975252070034097e-02, 3.2527926989486055e-02, 2.6436421275166801e-02,
      1.9211784131744430e-01},
     {4.9976913345811579e-04, 4.5195666782961927e-05, 7.3973765172921357e-05, 7.3821238632439731e-05,
      8.9269630987491446e-04}},
    {24,
     200,
     0.0008,
     {0.1125590409344e+03, 0.1180007595731e+02, 0.2710329767846e+02, 0.2469174937669e+02,
      0.2638427874317e+03},
     {0.4419655736008e+01, 0.4638531260002e+00, 0.1011551749967e+01, 0.9235878729944e+00,
      0.1018045837718e+02}},
    {64,
     200,
     0.0008,
     {1.0806346714637264e+02, 1.1319730901220813e+01, 2.5974354511582465e+01, 2.3665622544678910e+01,
      2.5278963211748344e+02},
     {4.2348416040525025e+00, 4.4390282496995698e-01, 9.6692480136345650e-01, 8.8302063039765474e-01,
      9.7379901770829278e+00}},
    {102,
     200,
     0.0003,
     {1.4233597229287254e+03, 9.9330522590150238e+01, 3.5646025644535285e+02, 3.2485447959084092e+02,
      3.2707541254659363e+03},
     {5.2969847140936856e+01, 4.4632896115670668e+00, 1.3122573342210174e+01, 1.2006925323559144e+01,
      1.2459576151035986e+02}},
};

struct adi_grid adi;

static void* allocate_field(size_t size) {
  return nas_allocate(adi.pitch * adi.pitch * adi.pitch, size);
}

static void make_grid(const struct problem* problem) {
  static const double dissipation[3] = {0.75, 0.75, 1.0};
  const double intervals = problem->points - 1;
  adi.points = problem->points;
  adi.pitch = (size_t)problem->points + 1;
  adi.step = problem->step;
  size_t stride = 1;
  for (int i = 0; i < 3; i++, stride *= adi.pitch) {
    adi.directions[i] =
        (struct adi_direction){stride, 0.5 * intervals, intervals * intervals, dissipation[i]};
  }
  adi.solution = allocate_field(sizeof *adi.solution);
  adi.change = allocate_field(sizeof *adi.change);
  adi.forcing = allocate_field(sizeof *adi.forcing);
  adi.flow = allocate_field(sizeof *adi.flow);
}

static void exact_at(int x, int y, int z, adi_variables exact) {
  const double intervals = adi.points - 1;
  adi_exact(x / intervals, y / intervals, z / intervals, exact);
}

// Sets the solution to the values of `value`, and the flow that follows from it, by the whole team.
static void set_solution(void (*value)(int x, int y, int z, adi_variables to)) {
#pragma omp for schedule(static)
  for (int z = 0; z < adi.points; z++) {
    for (int y = 0; y < adi.points; y++) {
      for (int x = 0; x < adi.points; x++) {
        value(x, y, z, adi.solution[adi_index(x, y, z)]);
        adi_compute_flow(adi_index(x, y, z));
      }
    }
  }
}

// The forcing makes the right side of the exact solution zero.
static void make_forcing(void) {
  set_solution(exact_at);
#pragma omp for schedule(static)
  for (int z = 1; z < adi.points - 1; z++) {
    adi_right_side(z);
    for (int y = 1; y < adi.points - 1; y++) {
      for (int x = 1; x < adi.points - 1; x++) {
        const size_t point = adi_index(x, y, z);
        for (int m = 0; m < 5; m++) adi.forcing[point][m] = -adi.change[point][m];
      }
    }
  }
}

static void scale_change(int y, int z) {
  for (int x = 1; x < adi.points - 1; x++) {
    for (int m = 0; m < 5; m++) adi.change[adi_index(x, y, z)][m] *= adi.step;
  }
}

static void add_change(int y, int z) {
  for (int x = 1; x < adi.points - 1; x++) {
    const size_t point = adi_index(x, y, z);
    for (int m = 0; m < 5; m++) adi.solution[point][m] += adi.change[point][m];
    adi_compute_flow(point);
  }
}

// A time step, by the whole team: threads share planes of equal z, and in the sweep in z planes of equal y.
static void take_step(void) {
#pragma omp for schedule(static)
  for (int z = 1; z < adi.points - 1; z++) {
    adi_right_side(z);
    for (int y = 1; y < adi.points - 1; y++) scale_change(y, z);
    adi_solve_plane(0, z);
    adi_solve_plane(1, z);
  }
#pragma omp for schedule(static)
  for (int y = 1; y < adi.points - 1; y++) adi_solve_plane(2, y);
#pragma omp for schedule(static)
  for (int z = 1; z < adi.points - 1; z++) {
    for (int y = 1; y < adi.points - 1; y++) add_change(y, z);
  }
}

static void solve_plane_together(int direction, int plane) {
#pragma omp for schedule(static)
  for (int line = 1; line < adi.points - 1; line += ADI_LINES_AT_ONCE)
    adi_solve_lines(direction, plane, line);
}

// The same step by work-sharing loops inside each plane.
static void take_step_inside_planes(void) {
  for (int z = 1; z < adi.points - 1; z++) {
#pragma omp for schedule(static)
    for (int y = 1; y < adi.points - 1; y++) adi_right_side_of_row(y, z);
#pragma omp for schedule(static)
    for (int y = 1; y < adi.points - 1; y++) scale_change(y, z);
    solve_plane_together(0, z);
    solve_plane_together(1, z);
  }
  for (int y = 1; y < adi.points - 1; y++) solve_plane_together(2, y);
  for (int z = 1; z < adi.points - 1; z++) {
#pragma omp for schedule(static)
    for (int y = 1; y < adi.points - 1; y++) add_change(y, z);
  }
}

// Adds the squares of residual and error, and compares their means with the published ones.
static int verify(const struct problem* problem) {
  adi_variables residual = {0.0};
  adi_variables error = {0.0};
  const double count = pow(adi.points - 2, 3.0);
#pragma omp parallel for schedule(static) reduction(+ : residual[ : 5], error[ : 5])
  for (int z = 1; z < adi.points - 1; z++) {
    adi_right_side(z);
    for (int y = 1; y < adi.points - 1; y++) {
      for (int x = 1; x < adi.points - 1; x++) {
        const size_t point = adi_index(x, y, z);
        adi_variables exact;
        exact_at(x, y, z, exact);
        for (int m = 0; m < 5; m++) {
          residual[m] += adi.change[point][m] * adi.change[point][m];
          error[m] += (adi.solution[point][m] - exact[m]) * (adi.solution[point][m] - exact[m]);
        }
      }
    }
  }
  int verified = 1;
  for (int m = 0; m < 5; m++) {
    residual[m] = sqrt(residual[m] / count);
    error[m] = sqrt(error[m] / count);
    printf("variable %d: residual %.13e, expected %.13e\n", m + 1, residual[m], problem->residual[m]);
    printf("variable %d: error    %.13e, expected %.13e\n", m + 1, error[m], problem->error[m]);
    verified &=
        nas_close(residual[m], problem->residual[m], 1e-8) && nas_close(error[m], problem->error[m], 1e-8);
  }
  return verified;
}

int main(int argc, char** argv) {
  const int inner = argc == 3 && strcmp(argv[2], "inner") == 0;
  const size_t choice = nas_class(argc - inner, argv, "adi", CLASSES);
  void (*const take)(void) = inner ? take_step_inside_planes : take_step;
  const struct problem* problem = &problems[choice];
  make_grid(problem);
  double start = 0.0;
#pragma omp parallel
  {
    make_forcing();
    set_solution(adi_guess);
    take();  // untimed: touches all memory
    set_solution(adi_guess);
#pragma omp single
    start = omp_get_wtime();
    for (int step = 0; step < problem->steps; step++) take();
  }
  const double seconds = omp_get_wtime() - start;

  printf("ADI class %c, %d^3 points, %d steps, %d threads%s\n", CLASSES[choice], adi.points, problem->steps,
         omp_get_max_threads(), inner ? ", inner loops" : "");
  const int verified = verify(problem);
  // Counts only the block algebra: in each of three sweeps an elimination (345), two products (300), and the
  // substitution (50), for each inner point.
  const double operations = 3.0 * (345.0 + 300.0 + 50.0) * problem->steps;
  return nas_finish(verified, seconds, operations * pow(adi.points - 2, 3.0));
}
