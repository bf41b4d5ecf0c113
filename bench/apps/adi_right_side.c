// The right side of the compressible Navier-Stokes equations of the specification (sections 3.2 and 3.3):
// fluxes by central differences, viscous terms and artificial dissipation by second differences, and a
// dissipation of fourth order that leaves out the points of the boundary.

#include "adi.h"

#define DISSIPATION_FOURTH 0.25

void adi_compute_flow(size_t point) {
  const double* u = adi.solution[point];
  struct adi_flow* flow = &adi.flow[point];
  flow->inverse_density = 1.0 / u[0];
  flow->kinetic_energy = 0.0;
  for (int i = 0; i < 3; i++) {
    flow->velocity[i] = u[1 + i] * flow->inverse_density;
    flow->kinetic_energy += 0.5 * flow->velocity[i] * flow->velocity[i];
  }
  flow->energy = u[4] * flow->inverse_density;
}

static inline double pressure(size_t point) {
  const struct adi_flow* flow = &adi.flow[point];
  return ADI_C2 * adi.solution[point][0] * (flow->energy - flow->kinetic_energy);
}

// Fluxes through both neighbours and the second differences of one direction.
static inline void add_direction(int direction, size_t point, adi_variables sum) {
  const struct adi_direction* coefficients = &adi.directions[direction];
  const size_t before_point = point - coefficients->stride;
  const size_t after_point = point + coefficients->stride;
  const double* here_u = adi.solution[point];
  const double* before_u = adi.solution[before_point];
  const double* after_u = adi.solution[after_point];
  const struct adi_flow* here = &adi.flow[point];
  const struct adi_flow* before = &adi.flow[before_point];
  const struct adi_flow* after = &adi.flow[after_point];
  const double central = coefficients->central;
  const double dissipation = coefficients->dissipation * coefficients->second;
  const double viscous = ADI_VISCOSITY * coefficients->second;
  const double speed = here->velocity[direction];
  const double before_speed = before->velocity[direction];
  const double after_speed = after->velocity[direction];
  const double before_pressure = pressure(before_point);
  const double after_pressure = pressure(after_point);

  for (int m = 0; m < 5; m++) sum[m] += dissipation * (after_u[m] - 2.0 * here_u[m] + before_u[m]);
  sum[0] -= central * (after_u[1 + direction] - before_u[1 + direction]);
  for (int i = 0; i < 3; i++) {
    const double difference = after->velocity[i] - 2.0 * here->velocity[i] + before->velocity[i];
    sum[1 + i] +=
        viscous * difference - central * (after_u[1 + i] * after_speed - before_u[1 + i] * before_speed);
  }
  sum[1 + direction] += viscous / 3.0 * (after_speed - 2.0 * speed + before_speed) -
                        central * (after_pressure - before_pressure);
  sum[4] -= central *
            (after_speed * (after_u[4] + after_pressure) - before_speed * (before_u[4] + before_pressure));
  sum[4] += viscous * ((1.0 - ADI_CONDUCTION) *
                           (after->kinetic_energy - 2.0 * here->kinetic_energy + before->kinetic_energy) +
                       (after_speed * after_speed - 2.0 * speed * speed + before_speed * before_speed) / 6.0 +
                       ADI_CONDUCTION * (after->energy - 2.0 * here->energy + before->energy));
}

// The fourth difference; `at` is the point's place in this direction.
static inline void add_fourth_difference(size_t stride, int at, size_t point, adi_variables sum) {
  const int last = adi.points - 2;
  const double* here = adi.solution[point];
  const double centre = at == 1 || at == last ? 5.0 : 6.0;
  for (int m = 0; m < 5; m++) sum[m] -= DISSIPATION_FOURTH * centre * here[m];
  const double* before = adi.solution[point - stride];
  const double* after = adi.solution[point + stride];
  if (at > 1) {
    for (int m = 0; m < 5; m++) sum[m] += DISSIPATION_FOURTH * 4.0 * before[m];
  }
  if (at < last) {
    for (int m = 0; m < 5; m++) sum[m] += DISSIPATION_FOURTH * 4.0 * after[m];
  }
  if (at > 2) {
    for (int m = 0; m < 5; m++) sum[m] -= DISSIPATION_FOURTH * adi.solution[point - 2 * stride][m];
  }
  if (at < last - 1) {
    for (int m = 0; m < 5; m++) sum[m] -= DISSIPATION_FOURTH * adi.solution[point + 2 * stride][m];
  }
}

void adi_right_side_of_row(int y, int z) {
  for (int x = 1; x < adi.points - 1; x++) {
    const size_t point = adi_index(x, y, z);
    const int place[3] = {x, y, z};
    adi_variables sum;
    for (int m = 0; m < 5; m++) sum[m] = adi.forcing[point][m];
    for (int direction = 0; direction < 3; direction++) {
      add_direction(direction, point, sum);
      add_fourth_difference(adi.directions[direction].stride, place[direction], point, sum);
    }
    for (int m = 0; m < 5; m++) adi.change[point][m] = sum[m];
  }
}

void adi_right_side(int z) {
  for (int y = 1; y < adi.points - 1; y++) adi_right_side_of_row(y, z);
}
