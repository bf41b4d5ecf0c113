// The exact solution that the specification prescribes (section 3.2.3): a polynomial of fourth degree in each
// coordinate for each of the five variables.

#include "adi.h"

// For each variable, the constant, then the coefficients of the first to the fourth powers of x, y and z.
static const double constants[5] = {2.0, 1.0, 2.0, 2.0, 5.0};
static const double coefficients[5][3][4] = {
    {{0.0, 5.0, 0.02, 0.5}, {0.0, 3.0, 0.01, 0.4}, {4.0, 0.5, 0.03, 0.3}},
    {{0.0, 1.0, 0.01, 0.4}, {0.0, 2.0, 0.03, 0.3}, {0.0, 3.0, 0.02, 0.5}},
    {{2.0, 0.0, 0.04, 0.3}, {0.0, 2.0, 0.03, 0.5}, {0.0, 3.0, 0.05, 0.4}},
    {{2.0, 0.0, 0.03, 0.2}, {0.0, 2.0, 0.05, 0.1}, {0.0, 3.0, 0.04, 0.3}},
    {{4.0, 0.1, 0.05, 0.1}, {3.0, 0.4, 0.04, 0.3}, {2.0, 0.3, 0.03, 0.2}},
};

void adi_exact(double x, double y, double z, adi_variables exact) {
  const double place[3] = {x, y, z};
  for (int m = 0; m < 5; m++) {
    exact[m] = constants[m];
    for (int direction = 0; direction < 3; direction++) {
      const double* c = coefficients[m][direction];
      const double t = place[direction];
      exact[m] += t * (c[0] + t * (c[1] + t * (c[2] + t * c[3])));
    }
  }
}

// Inside, interpolates between opposite faces and blends the results; on the boundary the solution is exact.
void adi_guess(int x, int y, int z, adi_variables guess) {
  const int last = adi.points - 1;
  const double place[3] = {(double)x / last, (double)y / last, (double)z / last};
  adi_exact(place[0], place[1], place[2], guess);
  if (x == 0 || y == 0 || z == 0 || x == last || y == last || z == last) return;
  adi_variables between[3];
  for (int direction = 0; direction < 3; direction++) {
    double near[3] = {place[0], place[1], place[2]};
    double far[3] = {place[0], place[1], place[2]};
    near[direction] = 0.0;
    far[direction] = 1.0;
    adi_variables near_value, far_value;
    adi_exact(near[0], near[1], near[2], near_value);
    adi_exact(far[0], far[1], far[2], far_value);
    for (int m = 0; m < 5; m++) {
      between[direction][m] = (1.0 - place[direction]) * near_value[m] + place[direction] * far_value[m];
    }
  }
  for (int m = 0; m < 5; m++) {
    const double a = between[0][m];
    const double b = between[1][m];
    const double c = between[2][m];
    guess[m] = a + b + c - a * b - b * c - c * a + a * b * c;
  }
}
