#include "cg_matrix.h"

const struct cg_problem cg_problems[] = {
    {1400, 7, 15, 10.0, 8.5971775078648},
    {7000, 8, 15, 12.0, 10.362595087124},
    {14000, 11, 15, 20.0, 17.130235054029},
    {75000, 13, 75, 60.0, 22.712745482631},
};

static uint64_t random_state = NAS_SEED;

static int find_column(const struct cg_vector* vector, int wanted) {
  int i = 0;
  while (i < vector->count && vector->column[i] != wanted) i++;
  return i;
}

// Random values at distinct random places, then 0.5 at place `index`.
static void generate_vector(struct cg_vector* vector, const struct cg_problem* problem, int index) {
  int power_of_two = 1;
  while (power_of_two < problem->rows) power_of_two *= 2;
  vector->count = 0;
  while (vector->count < problem->nonzeros) {
    const double value = nas_random(&random_state);
    const int place = (int)(power_of_two * nas_random(&random_state));
    if (place >= problem->rows || find_column(vector, place) < vector->count) continue;
    vector->value[vector->count] = value;
    vector->column[vector->count++] = place;
  }
  const int at = find_column(vector, index);
  vector->column[at] = index;
  vector->value[at] = 0.5;
  if (at == vector->count) vector->count++;
}

// Adds to one element of a row whose columns are kept sorted; returns the row's new length.
static int add_element(int* columns, double* values, int length, int wanted, double value) {
  int low = 0;
  int high = length;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (columns[middle] < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < length && columns[low] == wanted) {
    values[low] += value;
    return length;
  }
  for (int i = length; i > low; i--) {
    columns[i] = columns[i - 1];
    values[i] = values[i - 1];
  }
  columns[low] = wanted;
  values[low] = value;
  return length + 1;
}

void cg_generate(const struct cg_problem* problem, struct cg_vector* vectors, int* room) {
  nas_random(&random_state);  // the specification draws one number before the matrix
  for (int i = 0; i < problem->rows; i++) generate_vector(&vectors[i], problem, i);
  for (int i = 0; i < problem->rows; i++) {
    for (int j = 0; j < vectors[i].count; j++) room[vectors[i].column[j] + 1] += vectors[i].count;
  }
  for (int i = 0; i < problem->rows; i++) room[i + 1] += room[i];
}

void cg_assemble(const struct cg_problem* problem, const struct cg_vector* vectors, const int* room,
                 int* columns, double* elements, int* length, int first, int end) {
  const double ratio = pow(CG_CONDITION, 1.0 / problem->rows);
  double weight = 1.0;
  for (int v = 0; v < problem->rows; v++, weight *= ratio) {
    const struct cg_vector* vector = &vectors[v];
    for (int i = 0; i < vector->count; i++) {
      const int row = vector->column[i];
      if (row < first || row >= end) continue;
      const double scale = weight * vector->value[i];
      for (int j = 0; j < vector->count; j++) {
        double value = vector->value[j] * scale;
        if (vector->column[j] == row && row == v) value += CG_CONDITION - problem->shift;
        length[row] =
            add_element(columns + room[row], elements + room[row], length[row], vector->column[j], value);
      }
    }
  }
}
